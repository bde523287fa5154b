// SPDX-License-Identifier: Apache-2.0
#include "run/command_job.h"

#include <fmt/format.h>

#include <utility>

#include "base/document.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

bool is_command(const Json& value) {
  const auto engine = value.is_object() ? value.find("engine") : value.end();
  if (engine == value.end() || !engine->is_object()) return false;
  const auto kind = engine->find("kind");
  return kind != engine->end() && *kind == "command";
}

bool names_a_model(const Json& value) {
  const auto model = value.find("model");
  return model != value.end() && model->is_object() &&
         (model->contains("name") || model->contains("config"));
}

bool says(const Json& value, const char* key) {
  const auto batch = value.find("batch");
  return batch != value.end() && batch->is_object() && batch->contains(key);
}

void take_batch(const Json& value, const estimate::Job& job, CommandJob& result) {
  if (says(value, "micro")) {
    result.micro = job.batch.micro;
    result.micro_is_automatic = !job.batch.micro;
  }
  if (says(value, "accumulate")) result.accumulate = job.batch.accumulate;
  // What was read holds: global is a multiple of micro.
  if (job.batch.global && result.micro && !result.accumulate)
    result.accumulate = *job.batch.global / *result.micro;
  result.command = job.engine.command;
  result.output_folder = job.output.folder;
}

Error without_command(const std::string& path) {
  return {Errc::invalid,
          fmt::format("{}: engine.command: expected the words of a command, found none", path),
          "write [engine] kind = \"command\", command = [\"python\", \"train.py\", \"--batch\", "
          "\"{micro}\"]"};
}

}  // namespace

Result<std::optional<CommandJob>> load_command_job(const std::string& path) {
  std::optional<CommandJob> none;
  if (path == "-") return none;
  const auto text = machine::read_file(path);
  if (!text) return none;  // Whoever loads it as any other job says why.
  auto document = parse_document(*text);
  if (!document || !is_command(document->value)) return none;
  CommandJob result;
  if (names_a_model(document->value)) {
    JobFlags as_library;
    as_library.set("engine.kind", "transformers", "engine.kind");
    HEADROOM_TRY(LoadedJob loaded, load_job(path, as_library));
    take_batch(document->value, loaded.job, result);
    result.as_planned = std::move(loaded);
  } else {
    document->value["model"] = {{"name", "none"}};
    const auto job = estimate::parse_job(*document);
    if (!job) return Error(job.error()).in(path);
    take_batch(document->value, *job, result);
  }
  if (result.command.empty() || result.command.front().empty()) return without_command(path);
  return std::optional(std::move(result));
}

}  // namespace headroom::run

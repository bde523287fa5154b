// SPDX-License-Identifier: Apache-2.0
#include "run/llama_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "run/weight_files.h"

namespace headroom::run {
namespace {

using estimate::llama::Program;
using estimate::llama::ReadOptions;

constexpr const char* engine_name = "llama.cpp";

// The rules of a job's other keys are asked as if another engine had them.
Result<estimate::Job> parse_device(Document document, const JobFlags& flags) {
  document.value["model"] = {{"name", "none"}};
  document.value["engine"] = {{"kind", "transformers"}};
  JobFlags device = flags;
  device.keys.erase("model");
  device.keys.erase("engine");
  for (const char* key : {"model.name", "model.config", "engine.kind"}) device.flags.erase(key);
  apply(device, document);
  auto job = estimate::parse_job(document);
  if (!job) return place_error(std::move(job).error(), flags, "plan");
  return job;
}

Result<LlamaJob> load(ReadOptions read, Document document, const JobFlags& flags) {
  LlamaJob job;
  job.options = std::move(read.options);
  HEADROOM_TRY(job.device, parse_device(std::move(document), flags));
  HEADROOM_TRY(const estimate::GgufHeader header, read_gguf_parts(job.options.model));
  auto model = estimate::llama::make_model(header);
  if (!model) return std::move(model).error().in(job.options.model);
  job.model = *std::move(model);
  if (!read.unread.empty())
    job.notes.push_back(fmt::format("Ignored: {}.", join(read.unread, ", ")));
  if (std::string note = unused_note(flags, "llama.cpp"); !note.empty())
    job.notes.push_back(std::move(note));
  return job;
}

}  // namespace

Result<LlamaJob> load_llama_command(const std::vector<std::string>& words, const JobFlags& flags) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  HEADROOM_TRY(ReadOptions read, estimate::llama::parse_options(arguments));
  if (read.options.model.empty())
    return Error{Errc::invalid, "plan: expected -m MODEL.gguf in the command, found none",
                 "download the model first, and name its file: headroom plan -- llama-server -m "
                 "MODEL.gguf -c 8192"};
  read.options.program = words.front().ends_with("llama-server") ? Program::server : Program::other;
  return load(std::move(read), {Json::object(), {}}, flags);
}

bool names_only_a_device(const JobFlags& flags) {
  return std::all_of(flags.flags.begin(), flags.flags.end(), [&flags](const auto& one) {
    if (one.first == "engine.kind") return flags.keys["engine"]["kind"] == engine_name;
    return one.first.starts_with("device.");
  });
}

Result<LlamaJob> load_llama_job(JobFile file, const JobFlags& flags) {
  auto read = estimate::llama::read_options(file.document.value["engine"]);
  if (!read) return std::move(read).error().in(file.name);
  auto model = file.model("config");
  if (!model)
    return Error{
        Errc::invalid,
        fmt::format("{}: model.config: expected the path of a .gguf file, found none", file.name),
        "write [model] config = \"model.gguf\""};
  read->options.model = *std::move(model);
  return load(*std::move(read), std::move(file.document), flags);
}

Result<LlamaJob> load_llama_model(const std::string& path, Document document,
                                  const JobFlags& flags) {
  ReadOptions read;
  read.options.model = path;
  return load(std::move(read), std::move(document), flags);
}

}  // namespace headroom::run

// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/job_source.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/document_reader.h"
#include "machine/user_files.h"

namespace headroom::trainer::data {
namespace {

using estimate::Job;

std::string below(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

// The first of the ids that end a text, as config.json has them.
std::optional<std::int32_t> find_end_of_text(const Json& config) {
  const auto found = config.find("eos_token_id");
  if (found == config.end()) return std::nullopt;
  const Json& first = found->is_array() && !found->empty() ? (*found)[0] : *found;
  const auto id = whole_number(first);
  constexpr std::uint64_t most_ids = 1U << 24U;
  if (!id || *id >= most_ids) return std::nullopt;
  return static_cast<std::int32_t>(*id);
}

// What a folder has: the tokenizer.json, else the tokenizer.model.
std::optional<std::string> tokenizer_in(const std::string& folder) {
  for (const char* name : {"/tokenizer.json", "/tokenizer.model"})
    if (machine::kind_of(folder + name)) return folder + name;
  return std::nullopt;
}

// Tokens are as the job says, else as the model's own tokenizer makes them, else bytes.
std::string find_tokenizer(const run::LoadedJob& loaded) {
  const auto& given = loaded.job.data.tokenizer;
  const std::string& written = loaded.job.data.kind;
  const bool has_ids = written == "tokens" || written == "bin" || written == "npy";
  if (has_ids || given == "bytes") return {};
  if (given) {
    const std::string path = below(loaded.folder, *given);
    const auto kind = machine::kind_of(path);
    if (!kind || *kind != EntryKind::folder) return path;
    return tokenizer_in(path).value_or(path + "/tokenizer.json");
  }
  const auto folder = find_model_folder(loaded);
  return folder ? tokenizer_in(*folder).value_or("") : "";
}

}  // namespace

BatchShape make_batch(const Job::Batch& batch) {
  return {.micro = *batch.micro,
          .accumulate = batch.accumulate ? *batch.accumulate : *batch.global / *batch.micro};
}

std::optional<std::string> find_model_folder(const run::LoadedJob& loaded) {
  const Job::Model& model = loaded.job.model;
  if (!model.config_path || model.config_path->ends_with(".json")) return std::nullopt;
  return below(loaded.folder, *model.config_path);
}

Result<Source> make_source(const run::LoadedJob& loaded) {
  Source source;
  for (const std::string& path : loaded.job.data.paths) {
    source.paths.push_back(below(loaded.folder, path));
  }
  source.kind = loaded.job.data.kind;
  source.longest = loaded.job.batch.sequence;
  source.vocabulary = loaded.model.vocabulary;
  source.chat_template = loaded.job.data.chat_template.value_or("");
  source.end_of_text = find_end_of_text(loaded.config);
  if (const auto& type = loaded.job.data.dtype)
    source.token_type = *type == "uint16" ? tokens::TokenType::uint16 : tokens::TokenType::uint32;
  source.tokenizer = find_tokenizer(loaded);
  source.packing = loaded.job.data.packing;
  return source;
}

Evaluation make_evaluation(const run::LoadedJob& loaded) {
  Evaluation evaluation{.share = loaded.job.data.evaluation_share, .paths = {}};
  for (const std::string& path : loaded.job.data.evaluation_paths)
    evaluation.paths.push_back(below(loaded.folder, path));
  return evaluation;
}

}  // namespace headroom::trainer::data

// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_data.h"

#include <algorithm>

namespace headroom::estimate {
namespace {

const std::vector<std::string> kinds = {"text", "tokens", "jsonl"};
const std::vector<std::string> templates = {"chatml", "llama3", "gemma", "mistral", "plain"};

// What the names of the files tell, where the job does not say it.
std::size_t kind_of(const std::vector<std::string>& paths) {
  const bool are_records =
      !paths.empty() &&
      std::all_of(paths.begin(), paths.end(), [](auto& path) { return path.ends_with(".jsonl"); });
  return are_records ? 2 : 0;
}

}  // namespace

void read_training_data(TableReader& table, Job::Data& data) {
  table.read("path", data.paths);
  std::size_t kind = kind_of(data.paths);
  table.read_choice("kind", kind, kinds);
  data.kind = kinds[kind];
  table.read("tokenizer", data.tokenizer);
  std::optional<std::size_t> chat_template;
  table.read_choice("template", chat_template, templates);
  if (chat_template) data.chat_template = templates[*chat_template];
}

}  // namespace headroom::estimate

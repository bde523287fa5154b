// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_data.h"

#include <algorithm>

namespace headroom::estimate {
namespace {

const std::vector<std::string> kinds = {"text", "tokens", "jsonl", "bin", "npy"};
const std::vector<std::string> dtypes = {"uint16", "uint32"};
const std::vector<std::string> templates = {"chatml", "llama3", "gemma", "mistral", "plain"};

// What the names of the files tell, where the job does not say it. The first two have no ending of
// their own.
std::size_t kind_of(const std::vector<std::string>& paths) {
  for (std::size_t kind = 2; kind < kinds.size() && !paths.empty(); ++kind) {
    const std::string ending = "." + kinds[kind];
    if (std::all_of(paths.begin(), paths.end(),
                    [&](const std::string& path) { return path.ends_with(ending); }))
      return kind;
  }
  return 0;
}

void read_dtype(TableReader& table, Job::Data& data) {
  std::optional<std::size_t> dtype;
  table.read_choice("dtype", dtype, dtypes);
  if (!dtype) return;
  data.dtype = dtypes[*dtype];
  if (data.kind != "bin")
    table.fail("dtype", Errc::invalid,
               "expected kind = \"bin\" beside it, as other files tell their own, found \"" +
                   data.kind + "\"",
               "leave dtype out, or write kind = \"bin\" under [data]");
}

}  // namespace

void read_training_data(TableReader& table, Job::Data& data) {
  table.read("path", data.paths);
  std::size_t kind = kind_of(data.paths);
  table.read_choice("kind", kind, kinds);
  data.kind = kinds[kind];
  read_dtype(table, data);
  table.read("tokenizer", data.tokenizer);
  std::optional<std::size_t> chat_template;
  table.read_choice("template", chat_template, templates);
  if (chat_template) data.chat_template = templates[*chat_template];
  table.read("packing", data.packing);
}

}  // namespace headroom::estimate

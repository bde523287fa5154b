// SPDX-License-Identifier: Apache-2.0
#include "run/job_inputs.h"

#include <algorithm>
#include <array>

#include "machine/user_files.h"

namespace headroom::run {
namespace {

std::string below(const std::string& folder, const std::string& path) {
  if (path.starts_with('/') || folder == ".") return path;
  return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  const auto kind = machine::kind_of(path);
  return kind && *kind == EntryKind::folder;
}

bool is_of_model(const std::string& name) {
  constexpr std::array endings = {"config.json", ".safetensors", ".safetensors.index.json", ".gguf",
                                  ".onnx"};
  return std::any_of(endings.begin(), endings.end(),
                     [&name](const char* ending) { return name.ends_with(ending); });
}

// A file of a model stands for those beside it: weights come in parts, and with a config.
void add_model(const std::string& path, machine::InputFiles& inputs) {
  const std::string folder = is_folder(path) ? path : folder_of(path);
  inputs.files.push_back(path);
  const auto names = machine::list_folder(folder);
  if (!names) return;  // Reading it says why.
  for (const std::string& name : *names) {
    if (is_of_model(name)) inputs.files.push_back(folder + "/" + name);
  }
}

}  // namespace

machine::InputFiles inputs_of(const std::string& path, const JobFlags& flags,
                              const LoadedJob& loaded) {
  machine::InputFiles inputs;
  if (is_folder(path)) {
    add_model(path, inputs);
  } else {
    inputs.files.push_back(path == "-" ? "/dev/stdin" : path);
  }
  if (loaded.job.model.config_path) {
    // What a flag names is relative to the current folder.
    const std::string from = flags.flags.contains("model.config") ? "." : loaded.folder;
    add_model(below(from, *loaded.job.model.config_path), inputs);
  }
  if (loaded.job.data.tokenizer && *loaded.job.data.tokenizer != "bytes")
    inputs.files.push_back(below(loaded.folder, *loaded.job.data.tokenizer));
  for (const auto* paths : {&loaded.job.data.paths, &loaded.job.data.evaluation_paths}) {
    for (const std::string& data : *paths) {
      const std::string place = below(loaded.folder, data);
      if (is_folder(place)) {
        // As the trainer reads them.
        inputs.folders.push_back({place, {".txt", ".md", ".jsonl", ".bin", ".npy"}});
      } else {
        inputs.files.push_back(place);
      }
    }
  }
  return inputs;
}

}  // namespace headroom::run

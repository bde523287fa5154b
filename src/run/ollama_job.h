// SPDX-License-Identifier: Apache-2.0
// A model that ollama runs, by its name in ollama's own store or by a GGUF file: what its manifest,
// its Modelfile's parameters and the command say.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/ollama.h"
#include "run/job_file.h"
#include "run/job_flags.h"
#include "run/llama_job.h"

namespace headroom::run {

struct OllamaJob {
  LlamaJob llama;  // Its options follow from `settings` once the card is known.
  estimate::llama::OllamaSettings settings;
  std::string name;  // As people say it: "llama3.2:3b".
};

// "ollama run MODEL …" and "ollama serve", with variables in front of it or without.
bool is_ollama_command(const std::vector<std::string>& words);

// Where ollama keeps its models: OLLAMA_MODELS, the user's, the service's. `environment` is
// NUL-separated NAME=VALUE.
std::vector<std::string> ollama_folders(const std::string& environment);

// Fails where no model is named, where none of `folders` has it, and on a value that ollama would
// not take. Variables in front of the command win over those of `environment`.
Result<OllamaJob> load_ollama_command(const std::vector<std::string>& words, const JobFlags& flags,
                                      const std::string& environment);

// A job file with [engine] kind = "ollama". Fails likewise, and on a key that is not known.
Result<OllamaJob> load_ollama_job(JobFile file, const JobFlags& flags,
                                  const std::string& environment);

}  // namespace headroom::run

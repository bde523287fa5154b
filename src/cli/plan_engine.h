// SPDX-License-Identifier: Apache-2.0
// `headroom plan` where a program of its own runs the model, by rules of its own: llama.cpp,
// ollama, vLLM or diffusers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "run/job_file.h"
#include "run/job_flags.h"

namespace headroom::cli {

struct EngineQuestion {
  run::JobFlags flags;
  std::string root = "/";
  bool json = false;
  // The first of plan's options that only a step of PyTorch's answers: "--html"; empty: none.
  std::string unfit;
  std::vector<std::string> notes;  // What the words were taken from.
};

// The exit code; nothing where the words are no command of such a program.
std::optional<int> plan_engine_command(const std::vector<std::string>& words,
                                       const EngineQuestion& question, const Context& context);

// The same of a job file, and of a GGUF file in its place.
std::optional<int> plan_engine_job(const run::JobFile& file, const EngineQuestion& question,
                                   const Context& context);

}  // namespace headroom::cli

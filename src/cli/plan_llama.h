// SPDX-License-Identifier: Apache-2.0
// `headroom plan` of a model that llama.cpp runs.
#pragma once

#include <string>

#include "cli/commands.h"
#include "run/llama_job.h"
#include "run/ollama_job.h"

namespace headroom::cli {

// Plans it and prints the answer; returns the exit code. `root` as in `headroom check --root`.
int plan_llama(run::LlamaJob job, const std::string& root, bool as_json, const Context& context);

// The same where ollama starts llama-server.
int plan_ollama(run::OllamaJob job, const std::string& root, bool as_json, const Context& context);

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
// `headroom plan` of a model that vLLM serves.
#pragma once

#include <string>

#include "cli/commands.h"
#include "run/vllm_job.h"

namespace headroom::cli {

// Plans it and prints the answer; returns the exit code. `root` as in `headroom check --root`.
int plan_vllm(run::VllmJob job, const std::string& root, bool as_json, const Context& context);

}  // namespace headroom::cli

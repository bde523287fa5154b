// SPDX-License-Identifier: Apache-2.0
// `headroom plan` for a pipeline of diffusers.
#pragma once

#include <string>

#include "cli/commands.h"
#include "run/diffusion_job.h"

namespace headroom::cli {

// The exit code.
int plan_diffusion(const run::DiffusionJob& job, const std::string& root, bool as_json,
                   const Context& context);

}  // namespace headroom::cli

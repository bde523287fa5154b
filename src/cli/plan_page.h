// SPDX-License-Identifier: Apache-2.0
// `headroom plan --html FILE`: the plan as a page.
#pragma once

#include <string>

#include "base/result.h"
#include "estimate/plan.h"
#include "run/job_file.h"

namespace headroom::cli {

// Records the planned step again, and that of each candidate, and writes the page in place of what
// was there. On any failure the file is as it was.
Status write_plan_page(const std::string& path, const estimate::Plan& plan,
                       const run::LoadedJob& loaded, const estimate::Device& device);

}  // namespace headroom::cli

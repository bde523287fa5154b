// SPDX-License-Identifier: Apache-2.0
// This system's kernel, and the files of a root: signals by pidfd, writes to /sys and /proc, the
// distribution's own programs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "reclaim/kernel.h"

namespace headroom::reclaim {

using Measure = std::function<Result<plan::Measurement>()>;

// Processes are always this system's; files and programs are those of `root`, "/" or a scratch
// root. Fails with not_this_system for any other.
Result<std::unique_ptr<Kernel>> make_system_kernel(const std::string& root, Measure measure);

}  // namespace headroom::reclaim

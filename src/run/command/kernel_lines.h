// SPDX-License-Identifier: Apache-2.0
// Which of the kernel's messages may have to do with a command: what the GPU drivers say, and what
// is said of its own processes. Another job's out-of-memory kill is none of its troubles.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace headroom::run {

// `pids`: the processes that the command has or had.
bool concerns_command(std::string_view line, const std::set<std::uint64_t>& pids);

}  // namespace headroom::run

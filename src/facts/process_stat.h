// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat (proc(5)): what tells one process from a later one that got the same number, and
// whose child it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::facts {

struct ProcessStat {
  std::uint64_t pid = 0;
  std::string name;  // comm, at most 15 bytes of anything.
  char state = '?';  // 'R', 'S', 'D' (stuck in the kernel), 'Z' (ended, not yet collected) …
  std::uint64_t parent = 0;
  std::uint64_t group = 0;
  std::uint64_t session = 0;
  std::uint64_t start_ticks = 0;  // Field 22: clock ticks after boot.

  bool ended() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

// Nothing for what is no such line. The name may hold blanks and parentheses.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace headroom::facts

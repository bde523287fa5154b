// SPDX-License-Identifier: Apache-2.0
#include "run/command/kernel_lines.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::run {
namespace {

constexpr std::array<std::string_view, 7> drivers = {"amdgpu",   "kfd",    "[drm", "NVRM",
                                                     "pcieport", "AMD-Vi", "AER:"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Every whole number in the line, behind the time in brackets that it begins with.
std::set<std::uint64_t> numbers_of(std::string_view line) {
  std::set<std::uint64_t> numbers;
  std::size_t i = line.starts_with('[') ? std::min(line.find(']'), line.size()) : 0;
  while (i < line.size()) {
    if (!is_digit(line[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < line.size() && is_digit(line[i])) ++i;
    if (const auto number = parse_u64(line.substr(begin, i - begin))) numbers.insert(*number);
  }
  return numbers;
}

}  // namespace

bool concerns_command(std::string_view line, const std::set<std::uint64_t>& pids) {
  if (std::any_of(drivers.begin(), drivers.end(), [line](std::string_view driver) {
        return line.find(driver) != std::string_view::npos;
      }))
    return true;
  // mm/oom_kill.c: "Killed process 4711 (python)", "oom-kill:…,pid=4711,uid=0";
  // arch/x86/mm/fault.c: "python[4711]: segfault at …".
  constexpr std::array<std::string_view, 4> of_processes = {"oom-kill", "Killed process",
                                                            "segfault", "traps:"};
  const bool is_of_process = std::any_of(
      of_processes.begin(), of_processes.end(),
      [line](std::string_view word) { return line.find(word) != std::string_view::npos; });
  if (!is_of_process) return false;
  const auto numbers = numbers_of(line);
  return std::any_of(pids.begin(), pids.end(),
                     [&numbers](std::uint64_t pid) { return numbers.contains(pid); });
}

}  // namespace headroom::run

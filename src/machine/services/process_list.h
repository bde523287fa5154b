// SPDX-License-Identifier: Apache-2.0
// The processes of this system at one moment, by /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

// proc_pid_stat(5).
struct ListedProcess {
  std::uint64_t pid = 0;
  std::uint64_t parent = 0;
  std::uint64_t started = 0;  // In clock ticks since the boot: with the pid it names one process.
  char state = '?';           // 'Z': it has ended, and its parent has not asked how.
  std::string name;
  Bytes rss;
  Bytes address_space;
  std::uint64_t processor_ms = 0;
  std::optional<int> wait_status;  // Of one that has ended, as waitpid(2) gives it.
};

// One line of /proc/PID/stat; nothing if it is none. `page` and `tick_ms` are the system's.
std::optional<ListedProcess> parse_process_stat(const std::string& text, std::uint64_t page,
                                                std::uint64_t ticks_per_s);

// Those that can be seen, by their numbers.
Result<std::vector<ListedProcess>> list_processes();

// One of them; nothing where there is none of this number.
std::optional<ListedProcess> read_process(std::uint64_t pid);

// When it was started: milliseconds since 1970, by the clock as it is set now.
std::int64_t started_at_ms(const ListedProcess& process);

// Whether the process was started with this variable, "NAME=VALUE", as far as this user may know.
bool has_variable(std::uint64_t pid, const std::string& variable);
// False while it starts another program, and of one that has ended or has an empty environment.
bool shows_environment(std::uint64_t pid);

// The words of its command line joined, or its name in brackets.
std::string command_line_of(std::uint64_t pid, const std::string& name);

}  // namespace headroom::machine

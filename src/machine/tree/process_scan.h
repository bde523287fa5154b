// SPDX-License-Identifier: Apache-2.0
// The processes of this system as /proc shows them (proc_pid_stat(5), proc_pid_smaps(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace headroom::machine {

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // comm.
  char state = '?';
  std::uint64_t start_ticks = 0;   // Since boot: with its number it tells a process from any other.
  std::uint64_t own_ticks = 0;     // Processor time, its own,
  std::uint64_t waited_ticks = 0;  // and of the children that it has waited for.
  Bytes rss;

  // It runs no more: there is only what its parent has not asked for yet.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// What /proc/PID/stat says. Nothing if it is no such text: a name may hold any character.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// Nothing if there is no such process.
std::optional<ProcessStat> read_process(pid_t pid);
// Every process that comes from `ancestor`, without itself, ended ones included. One that begins or
// ends meanwhile may be missing.
std::vector<ProcessStat> read_descendants(pid_t ancestor);

// Its command line, at most some hundred bytes of it, else its name.
std::string read_command(const ProcessStat& process);
// Memory with each shared page counted in part (Pss); slow for large processes, and nothing where
// it may not be read.
std::optional<Bytes> read_proportional(pid_t pid);

// Of the ticks above.
std::uint64_t ticks_to_ms(std::uint64_t ticks);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// What a supervised command may do, and what is done when it does otherwise. The defaults are those
// of `headroom run -- CMD`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace headroom::supervisor {

// Since some fixed moment, and never going back. Nothing in this folder asks a clock.
using Time = std::chrono::milliseconds;

struct Policy {
  // Attempts after a crash or a hang. Those after an out of memory, with smaller settings, are not
  // counted: they end by themselves.
  std::uint64_t restarts = 0;
  Time back_off{1000};           // Before the first restart; it doubles with each,
  Time longest_back_off{60000};  // up to this.
  // A command that wrote nothing, used no processor and no GPU for so long is ended. Nothing:
  // never.
  std::optional<Time> hang = std::nullopt;
  Time grace{10000};                           // From SIGTERM to SIGKILL.
  std::optional<Bytes> memory = std::nullopt;  // Of the whole tree of processes.
  // Of the system's memory: where less is left, the command is asked to end, and at less than half
  // of it ended at once, if what it holds makes the difference.
  std::optional<Bytes> guard = std::nullopt;
};

}  // namespace headroom::supervisor

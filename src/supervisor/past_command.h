// SPDX-License-Identifier: Apache-2.0
// One attempt of a supervised command in the past: what it was started with and how much memory it
// took. What stores them is history/; the next run of the same command begins where the last ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/attempt.h"

namespace headroom::supervisor {

struct PastCommand {
  std::string time;      // Of its end, UTC, ISO 8601.
  std::string headroom;  // The version that ran it.
  std::string name;
  std::vector<std::string> command;  // As typed, with its placeholders.
  std::optional<Bytes> memory;       // The limit.
  std::string devices;               // --device; empty: all.
  std::uint64_t attempt = 1;         // Within its run.
  Settings settings;                 // `resume` is not kept.
  Exit exit;
  bool out_of_memory = false;
  std::string cause;  // Its id; empty: none.
  std::uint64_t duration_ms = 0;
  Peak peak;
};

// The same command with the same limits.
struct CommandKey {
  std::string name;
  std::vector<std::string> command;
  std::optional<Bytes> memory;
  std::string devices;
};

// The settings with which the last run of this command completed, if it had to shrink to them from
// larger ones. `past`: the latest first.
struct LearnedSettings {
  std::uint64_t out_of_memory_micro = 0;  // The smallest that was not small enough.
  Settings settings;
  std::string time;
};
std::optional<LearnedSettings> find_learned(const std::vector<PastCommand>& past,
                                            const CommandKey& key);

}  // namespace headroom::supervisor

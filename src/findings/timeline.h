// SPDX-License-Identifier: Apache-2.0
// Makes a timeline in the order of the logs: failures, their consequences, and the last sign of
// work before each. Repetitions are one event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct Event {
  std::string time;  // As the log writes it; empty if it has none.
  std::string log;
  std::uint64_t line = 0;
  std::string origin;  // The container, unit or rank; may be empty.
  std::string what;
  std::uint64_t times = 1;
  std::string last_time;  // The time of the last repetition, if there are several.
  knowledge::Role role = knowledge::Role::failure;
};

// Returns at most `most` events; those in the middle are left out.
std::vector<Event> make_timeline(const LogSubject& subject, std::size_t most = 40);

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// What happened, in the order of the logs: failures, what followed from them, and the last sign of
// work before each; the same thing over and over is one event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct Event {
  std::string time;  // As the log writes it; empty: it does not say.
  std::string log;
  std::uint64_t line = 0;
  std::string origin;  // The container, unit or rank; may be empty.
  std::string what;
  std::uint64_t times = 1;
  std::string last_time;  // Of the last, where there are several.
  knowledge::Role role = knowledge::Role::failure;
};

// At most `most` events: those in the middle give way.
std::vector<Event> make_timeline(const LogSubject& subject, std::size_t most = 40);

}  // namespace headroom::findings

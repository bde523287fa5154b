// SPDX-License-Identifier: Apache-2.0
// Words for what the supervisor tells: signals by their names, times as people say them.
#pragma once

#include <string>

#include "supervisor/attempt.h"
#include "supervisor/policy.h"

namespace headroom::supervisor {

// Linux's numbers, on x86 and ARM (signal(7)); no header of the OS is reachable from here.
namespace signals {
inline constexpr int hangup = 1, interrupt = 2, quit = 3, kill = 9, user1 = 10, user2 = 12,
                     terminate = 15, go_on = 18;
}  // namespace signals

// "SIGTERM"; "signal 34" where it has no name of its own.
std::string signal_name(int number);
// "ended with exit code 3", "was ended by SIGSEGV".
std::string describe_exit(const Exit& exit);
// "350 ms", "12 s", "5 min", "3 h 20 min", "2 days 4 h".
std::string describe_time(Time time);
// "micro 4", "micro 4 and accumulate 8".
std::string describe_settings(const Settings& settings);

}  // namespace headroom::supervisor

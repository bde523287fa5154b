// SPDX-License-Identifier: Apache-2.0
// The clocks: one for measuring how long something took, one for saying when. What reasons about
// time gets it as an argument, so only the commands ask a clock.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::machine {

// Nanoseconds since some fixed moment; never goes back.
std::uint64_t monotonic_ns();

// Waits at least so long.
void sleep_ms(std::uint64_t duration_ms);

// The time of day in UTC, to the second, as in ISO 8601: "2026-11-21T22:30:11Z".
std::string utc_now();
// The time of day in this system's time zone, "2026-11-21T22:30:11": now, and so many seconds after
// 1970 began in UTC. Empty for a time that no calendar has.
std::string local_now();
std::string local_time(std::int64_t unix_s);

}  // namespace headroom::machine

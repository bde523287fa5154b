// SPDX-License-Identifier: Apache-2.0
// Moments as logs and histories write them, as one text that compares: "2026-05-01T10:00:00". A
// clock's zone is dropped, because package managers write the machine's own time and do not say
// which that is.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::facts {

// The day that the first ten letters are: "2026-05-01…". Nothing for a day that no calendar has.
std::optional<std::chrono::sys_days> parse_day(std::string_view text);

// Returns "2026-05-01T10:00:00" for "2026-05-01  10:00:00" and "2026-05-01T10:00:00+0200", with
// seconds of 0 where there are none; empty if it is no time.
std::string parse_iso_moment(std::string_view text);

// The same for whatever logs write: also "Sat Jul 23 09:04:47 PM EDT 2022" (date(1), dmesg -T),
// "Mon, 23 Dec 2024 17:44:47 +05", and "Nov 23 15:41:13" (syslog), which happened in the year that
// makes it the last one before `now`; empty if `now` is. What was written in UTC may be hours off
// the machine's time, so of that the day alone is returned: "2026-05-01".
std::string parse_log_moment(std::string_view text, std::string_view now);

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
#include "report/utc_time.h"

#include <fmt/format.h>

namespace headroom::report {

std::string utc_clock(std::chrono::milliseconds since_1970) {
  const auto day = std::chrono::floor<std::chrono::days>(since_1970);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(since_1970 - day));
  return fmt::format("{:02}:{:02}:{:02}", time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

std::string utc_time(std::chrono::milliseconds since_1970) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::floor<std::chrono::days>(since_1970)}};
  return fmt::format("{:04}-{:02}-{:02} {}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     utc_clock(since_1970));
}

}  // namespace headroom::report

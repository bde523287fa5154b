// SPDX-License-Identifier: Apache-2.0
#include "facts/moment.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

std::string read(std::string_view text) {
  return parse_log_moment(text, "2026-05-10T12:00:00");
}

TEST(Moment, forms_of_iso_8601_are_one) {
  for (const char* text :
       {"2026-05-01T10:00:07", "2026-05-01 10:00:07", "2026-05-01  10:00:07",
        "[2026-05-01 10:00:07,123]", "2026/05/01 10:00:07", "2026-05-01T10:00:07.552+02:00"}) {
    EXPECT_EQ(read(text), "2026-05-01T10:00:07") << text;
  }
}

TEST(Moment, of_utc_the_day_alone_is_said) {
  EXPECT_EQ(read("2026-05-01T10:00:07Z"), "2026-05-01");
  EXPECT_EQ(read("2026-05-01T10:00:07.552+00:00"), "2026-05-01");
  EXPECT_EQ(read("Sun  1 Jan 08:49:32 GMT 2023"), "2023-01-01");
}

TEST(Moment, forms_of_date_are_read) {
  EXPECT_EQ(read("Fri May  1 10:00:00 2026"), "2026-05-01T10:00:00");
  EXPECT_EQ(read("Sat Jul 23 09:04:47 PM EDT 2022"), "2022-07-23T21:04:47");
  EXPECT_EQ(read("Sat Jul 23 12:04:47 AM EDT 2022"), "2022-07-23T00:04:47");
  EXPECT_EQ(read("Mon, 23 Dec 2024 17:44:47 +05"), "2024-12-23T17:44:47");
}

TEST(Moment, a_time_without_a_year_is_the_last_such_one) {
  EXPECT_EQ(read("May  1 10:00:00"), "2026-05-01T10:00:00");
  EXPECT_EQ(read("May 10 13:00:00"), "2026-05-10T13:00:00");
  EXPECT_EQ(read("Nov 23 15:41:13"), "2025-11-23T15:41:13");
  EXPECT_EQ(parse_log_moment("May  1 10:00:00", ""), "");
}

TEST(Moment, what_is_no_moment_is_none) {
  for (const char* text :
       {"", "2743.942606", "10:00:00", "2026-02-30T10:00:00", "yesterday", "Feb 30 10:00:00",
        "2026-05-01T99:00:00", "May May May", "::::::::", "Mai  1 10:00:00 2026"}) {
    EXPECT_EQ(read(text), "") << text;
  }
}

}  // namespace
}  // namespace headroom::facts

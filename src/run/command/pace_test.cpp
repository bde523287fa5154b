// SPDX-License-Identifier: Apache-2.0
#include "run/command/pace.h"

#include <gtest/gtest.h>

namespace headroom::run {
namespace {

using supervisor::Time;

Look busy(std::uint64_t second) {
  return {.output_bytes = second * 100, .processor_ms = second * 1000, .gpu_ms = 0, .left = {}};
}

TEST(Pace, a_command_that_begins_is_looked_at_soon_and_then_each_second) {
  Pace pace(std::nullopt);
  const Time first = pace.next(busy(0));
  EXPECT_LE(first, Time{100});
  Time last = first;
  for (std::uint64_t i = 1; i < 20; ++i) last = pace.next(busy(i));
  EXPECT_EQ(last, Time{1000});
}

TEST(Pace, an_idle_command_is_looked_at_every_few_seconds) {
  Pace pace(std::nullopt);
  Time last{0};
  for (int i = 0; i < 20; ++i) last = pace.next(busy(1));
  EXPECT_GE(last, Time{3000});
  EXPECT_LE(pace.next(busy(7)), Time{1000});
}

TEST(Pace, memory_near_a_limit_that_only_we_enforce_is_looked_at_often) {
  Pace pace(std::nullopt);
  Look look = busy(0);
  for (int i = 0; i < 20; ++i) {
    look.left = 924_MiB;
    pace.next(look);
  }
  EXPECT_LE(pace.next(look), Time{1000});
  look.left = 24_MiB;
  EXPECT_LE(pace.next(look), Time{20});
}

TEST(Pace, a_hang_is_noticed_in_about_its_own_time) {
  Pace pace(Time{2000});
  Time last{0};
  for (int i = 0; i < 20; ++i) last = pace.next(busy(1));
  EXPECT_LE(last, Time{500});
}

}  // namespace
}  // namespace headroom::run

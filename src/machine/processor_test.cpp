// SPDX-License-Identifier: Apache-2.0
#include "machine/processor.h"

#include <gtest/gtest.h>

namespace headroom::machine {
namespace {

TEST(Processor, has_a_name) {
  EXPECT_FALSE(processor_name().empty());
  EXPECT_EQ(processor_name(), processor_name());
}

TEST(QuietClock, waiting_is_a_part_of_the_time) {
  QuietClock clock;
  volatile double sum = 0;
  for (int i = 0; i < 1000000; ++i) sum = sum + i;
  const Stretch stretch = clock.take();
  EXPECT_GT(stretch.wall_s, 0);
  EXPECT_GT(stretch.quiet_s, 0);
  EXPECT_LE(stretch.quiet_s, stretch.wall_s);
  EXPECT_LE(stretch.most_waited_s, stretch.wall_s);
  EXPECT_GE(stretch.quiet_s, 0);
  EXPECT_LE(stretch.waited_share(), 1);
}

}  // namespace
}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/periodic.h"

#include <gtest/gtest.h>

#include <atomic>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t long_ms = 20'000;

TEST(Periodic, acts_again_and_again_until_it_is_stopped) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  Periodic periodic(1, [count] { ++*count; });
  while (*count < 3) sleep_ms(1);
  EXPECT_TRUE(periodic.stop(long_ms));
  const int then = *count;
  sleep_ms(20);
  EXPECT_EQ(*count, then);
}

TEST(Periodic, long_period_does_not_hold_its_end_up) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  Periodic periodic(1000 * long_ms, [count] { ++*count; });
  EXPECT_TRUE(periodic.stop(long_ms));
  EXPECT_EQ(*count, 1);
}

TEST(Periodic, what_does_not_come_back_is_left_behind) {
  const auto gate = std::make_shared<std::atomic<bool>>(false);
  const auto inside = std::make_shared<std::atomic<bool>>(false);
  Periodic periodic(1, [gate, inside] {
    *inside = true;
    while (!*gate) sleep_ms(1);
  });
  while (!*inside) sleep_ms(1);
  EXPECT_FALSE(periodic.stop(10));
  *gate = true;
  EXPECT_TRUE(periodic.stop(long_ms));
}

}  // namespace
}  // namespace headroom::machine

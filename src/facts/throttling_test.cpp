// SPDX-License-Identifier: Apache-2.0
#include "facts/throttling.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

// A table of that revision whose field has these bits.
Text metrics(unsigned format, unsigned content, std::size_t size, std::size_t at,
             std::uint64_t bits) {
  std::string bytes(size, '\0');
  bytes[0] = static_cast<char>(size);
  bytes[2] = static_cast<char>(format);
  bytes[3] = static_cast<char>(content);
  for (std::size_t i = 0; i < sizeof bits && at + i < size; ++i) {
    bytes[at + i] = static_cast<char>(bits >> (8 * i) & 0xffU);
  }
  return {bytes, Source{"/sys/gpu_metrics", 1, ""}};
}

TEST(Throttling, hot_card_names_temperature) {
  constexpr std::uint64_t hotspot = std::uint64_t{1} << 36U;
  const auto found = parse_throttling(metrics(1, 3, 120, 112, hotspot));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->temperature);
  EXPECT_FALSE(found->power || found->current || found->other);
  EXPECT_EQ(to_string(*found), "temperature");
}

TEST(Throttling, power_and_current_of_an_apu_are_told_apart) {
  const auto found = parse_throttling(metrics(2, 2, 128, 120, 1U << 4U | 1U << 22U));
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(*found), "power, current");
}

TEST(Throttling, card_at_ease_says_so) {
  const auto found = parse_throttling(metrics(1, 3, 120, 112, 0));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->any());
}

TEST(Throttling, field_that_is_not_filled_in_is_missing) {
  const auto found = parse_throttling(metrics(1, 3, 120, 112, ~std::uint64_t{0}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.missing().why, Why::not_present);
}

TEST(Throttling, revision_without_the_field_is_named) {
  const auto found = parse_throttling(metrics(3, 0, 200, 112, 0));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.missing().why, Why::not_applicable);
  EXPECT_EQ(found.missing().text, "gpu_metrics 3.0");
}

TEST(Throttling, table_that_ends_early_is_not_understood) {
  EXPECT_EQ(parse_throttling(metrics(1, 3, 100, 112, 0)).missing().why, Why::not_understood);
}

}  // namespace
}  // namespace headroom::facts

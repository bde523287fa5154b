// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/address_ranges.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headroom::allocator {
namespace {

using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

constexpr auto ignore = [](std::uint64_t, std::uint64_t) {};

Stretches of(const AddressRanges& ranges) {
  return {ranges.begin(), ranges.end()};
}

TEST(AddressRanges, neighbours_are_one_stretch_and_only_what_is_new_is_told) {
  AddressRanges ranges;
  ranges.add(10, 20, ignore);
  ranges.add(30, 40, ignore);
  Stretches added;
  ranges.add(15, 30, [&](std::uint64_t begin, std::uint64_t end) {
    added.push_back({begin, end});
  });
  EXPECT_EQ(added, (Stretches{{20, 30}}));
  EXPECT_EQ(of(ranges), (Stretches{{10, 40}}));
  EXPECT_EQ(ranges.bytes(), 30U);
}

TEST(AddressRanges, what_is_removed_leaves_both_sides) {
  AddressRanges ranges;
  ranges.add(10, 40, ignore);
  ranges.remove(20, 30);
  EXPECT_EQ(of(ranges), (Stretches{{10, 20}, {30, 40}}));
  ranges.remove(10, 20);
  EXPECT_EQ(of(ranges), (Stretches{{30, 40}}));
  EXPECT_EQ(ranges.bytes(), 10U);
}

TEST(AddressRangesDeathTest, what_is_not_in_the_set_cannot_be_removed) {
  AddressRanges ranges;
  ranges.add(10, 20, ignore);
  EXPECT_DEATH(ranges.remove(15, 21), "required: what is removed");
  EXPECT_DEATH(ranges.remove(5, 8), "required: what is removed");
  EXPECT_DEATH(ranges.remove(15, 15), "required: what is removed");
}

}  // namespace
}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/free_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "allocator/places/address_map.h"

namespace headroom::allocator {
namespace {

class Index : public testing::Test {
 protected:
  SegmentId add(std::uint64_t bytes, std::uint64_t address) {
    Segment segment;
    segment.bytes = bytes;
    segment.address = address;
    const SegmentId id = segments_.create(segment);
    index_.insert(id);
    return id;
  }

  SegmentTable segments_;
  FreeIndex index_{segments_};
};

TEST_F(Index, finds_the_smallest_that_is_large_enough_and_the_lowest_of_equals) {
  add(4096, 0x9000);
  const SegmentId low = add(2048, 0x1000);
  add(2048, 0x5000);
  EXPECT_EQ(index_.best_fit(1024), low);
  EXPECT_EQ(index_.best_fit(2048), low);
  EXPECT_EQ(segments_[index_.best_fit(2560)].bytes, 4096U);
  EXPECT_EQ(index_.best_fit(8192), no_segment);
}

TEST_F(Index, looks_past_the_too_small_ones_of_the_same_bin) {
  const std::uint64_t gib = std::uint64_t{1} << 30U;
  add(gib, 0x1000);
  const SegmentId second = add(gib + 512, 0x200000000);
  EXPECT_EQ(index_.best_fit(gib + 512), second);
  EXPECT_EQ(index_.best_fit(gib + 1024), no_segment);
}

TEST_F(Index, agrees_with_an_ordered_set_on_any_history) {
  std::mt19937_64 random(3);
  std::set<std::tuple<std::uint64_t, std::uint64_t, SegmentId>> model;
  for (int i = 0; i < 30000; ++i) {
    const unsigned shift = static_cast<unsigned>(random() % 34);
    const std::uint64_t bytes = (1 + (random() & ((std::uint64_t{1} << shift) - 1))) * 512;
    if (random() % 5 < 2 && !model.empty()) {
      auto victim = model.lower_bound({bytes, 0, 0});
      if (victim == model.end()) victim = model.begin();
      index_.erase(std::get<2>(*victim));
      segments_.destroy(std::get<2>(*victim));
      model.erase(victim);
      continue;
    }
    const std::uint64_t address = static_cast<std::uint64_t>(i + 1) * 512;
    model.insert({bytes, address, add(bytes, address)});
    const auto expected = model.lower_bound({bytes / 2, 0, 0});
    ASSERT_EQ(index_.best_fit(bytes / 2), std::get<2>(*expected));
    ASSERT_EQ(segments_[index_.largest()].bytes, std::get<0>(*model.rbegin()));
  }
}

TEST_F(Index, visits_all_in_order_also_the_one_that_came_last) {
  std::mt19937_64 random(4);
  std::set<std::tuple<std::uint64_t, std::uint64_t, SegmentId>> model;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const std::uint64_t bytes = (1 + random() % 3000) * 512;
    model.insert({bytes, i * 512, add(bytes, i * 512)});
    for (const std::uint64_t least : {std::uint64_t{0}, bytes, bytes + 512}) {
      std::vector<SegmentId> visited;
      index_.for_each_from(least, [&](SegmentId id) { visited.push_back(id); });
      std::vector<SegmentId> expected;
      for (auto each = model.lower_bound({least, 0, 0}); each != model.end(); ++each)
        expected.push_back(std::get<2>(*each));
      ASSERT_EQ(visited, expected) << "the last of " << i << " has " << bytes << " bytes";
    }
  }
}

TEST_F(Index, ends_a_search_at_the_first_and_at_the_last_one_that_is_wanted) {
  std::mt19937_64 random(5);
  std::set<std::tuple<std::uint64_t, std::uint64_t, SegmentId>> model;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const std::uint64_t bytes = (1 + random() % 3000) * 512;
    model.insert({bytes, i * 512, add(bytes, i * 512)});
    const std::uint64_t kind = i / 3 % 3;
    std::vector<SegmentId> from;  // In order, those that are wanted.
    for (auto each = model.lower_bound({bytes / 2, 0, 0}); each != model.end(); ++each)
      if (std::get<2>(*each) % 3 == kind) from.push_back(std::get<2>(*each));
    int seen = 0;
    const auto is_wanted = [&](SegmentId id) {
      seen += id % 3 == kind ? 1 : 0;
      return id % 3 == kind;
    };
    ASSERT_EQ(index_.first_from(bytes / 2, is_wanted), from.empty() ? no_segment : from.front());
    ASSERT_EQ(seen, from.empty() ? 0 : 1) << "it went on";
    if (from.empty()) continue;
    seen = 0;
    ASSERT_EQ(index_.last_that(is_wanted), from.back());
    ASSERT_EQ(seen, 1) << "it went on";
  }
}

TEST_F(Index, is_empty_only_without_the_one_that_came_last) {
  EXPECT_TRUE(index_.empty());
  const SegmentId first = add(1024, 0x1000);
  const SegmentId last = add(512, 0x2000);
  index_.erase(first);
  EXPECT_FALSE(index_.empty());
  EXPECT_EQ(index_.largest(), last);
  index_.erase(last);
  EXPECT_TRUE(index_.empty());
  EXPECT_EQ(index_.largest(), no_segment);
  EXPECT_EQ(index_.best_fit(512), no_segment);
}

TEST(AddressMap, finds_what_was_inserted_and_nothing_that_was_erased) {
  std::mt19937_64 random(5);
  AddressMap map;
  std::vector<Address> live;
  for (SegmentId i = 0; i < 50000; ++i) {
    if (random() % 3 == 0 && !live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      map.erase(live.back());
      ASSERT_EQ(map.find(live.back()), no_segment);
      live.pop_back();
    } else {
      live.push_back((std::uint64_t{i} + 1) * 512 * (1 + i % 7 * 4096));
      if (map.find(live.back()) != no_segment) {
        live.pop_back();
        continue;
      }
      map.insert(live.back(), i);
      ASSERT_EQ(map.find(live.back()), i);
    }
  }
  for (const Address address : live) ASSERT_NE(map.find(address), no_segment);
  EXPECT_EQ(map.size(), live.size());
}

}  // namespace
}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// The slab models by hand: each expectation follows from the rules in bfc_policy.h and
// best_fit_policy.h. Then both against random jobs: no two live blocks overlap, and what is live
// and reserved adds up.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "allocator/models/best_fit_policy.h"
#include "allocator/models/bfc_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

Address get(Policy& policy, std::uint64_t bytes) {
  const auto address = policy.allocate({bytes, Component::other, 0});
  EXPECT_TRUE(address.has_value()) << bytes;
  return address.value_or(0);
}

bool refuses(Policy& policy, std::uint64_t bytes) {
  return !policy.allocate({bytes, Component::other, 0}).has_value();
}

TEST(Bfc, regions_double_from_two_mebibytes) {
  BfcPolicy bfc(1024 * mib);
  get(bfc, 1);
  EXPECT_EQ(bfc.usage().reserved_bytes, 2 * mib);
  EXPECT_EQ(bfc.usage().live_bytes, 256U);
  get(bfc, 2 * mib);  // Not in the first region: the next one has 4 MiB, of which it gets half.
  EXPECT_EQ(bfc.usage().reserved_bytes, 6 * mib);
  get(bfc, 9 * mib);  // The next would have 8 MiB: doubled until it is enough.
  EXPECT_EQ(bfc.usage().reserved_bytes, 22 * mib);
  get(bfc, 16 * mib);  // That one was enlarged for its request, so the next has no more: 16 MiB.
  EXPECT_EQ(bfc.usage().reserved_bytes, 38 * mib);
  EXPECT_EQ(bfc.usage().device_calls, 4U);
}

TEST(Bfc, a_region_takes_no_more_than_the_capacity_leaves) {
  BfcPolicy bfc(10 * mib);
  get(bfc, 2 * mib);
  get(bfc, 4 * mib);
  get(bfc, 4 * mib);  // A region of 8 MiB would not fit any more; 4 MiB are left.
  EXPECT_EQ(bfc.usage().reserved_bytes, 10 * mib);
  EXPECT_TRUE(refuses(bfc, 1));
}

TEST(Bfc, a_chunk_below_twice_the_request_is_not_split) {
  BfcPolicy bfc(1024 * mib);
  const Address chunk = get(bfc, 2 * mib);
  bfc.free(chunk);
  get(bfc, mib + 256);
  EXPECT_EQ(bfc.usage().live_bytes, 2 * mib);
  BfcPolicy other(1024 * mib);
  get(other, mib);
  EXPECT_EQ(other.usage().live_bytes, mib);
}

TEST(Bfc, a_waste_of_128_mebibytes_is_split_off) {
  BfcPolicy bfc(1024 * mib);
  get(bfc, 384 * mib);  // Of a region of 512 MiB.
  EXPECT_EQ(bfc.usage().live_bytes, 384 * mib);
  BfcPolicy other(1024 * mib);
  get(other, 384 * mib + 256);
  EXPECT_EQ(other.usage().live_bytes, 512 * mib);
}

TEST(Bfc, idle_regions_go_back_for_a_larger_one) {
  BfcPolicy bfc(16 * mib);
  const Address first = get(bfc, 2 * mib);
  const Address second = get(bfc, 4 * mib);
  get(bfc, 8 * mib);
  bfc.free(first);
  bfc.free(second);
  EXPECT_TRUE(refuses(bfc, 10 * mib));  // Two idle regions and the 2 MiB never taken: 8 MiB.
  EXPECT_EQ(bfc.usage().reserved_bytes, 14 * mib);
  get(bfc, 7 * mib);
  EXPECT_EQ(bfc.usage().reserved_bytes, 16 * mib);
}

TEST(Bfc, chunks_of_different_regions_never_join) {
  BfcPolicy bfc(6 * mib);
  const Address first = get(bfc, mib);
  const Address second = get(bfc, 4 * mib);
  bfc.free(second);
  EXPECT_TRUE(refuses(bfc, 5 * mib));
  bfc.free(first);
  get(bfc, 5 * mib);  // Both regions are idle and make room for one of 6 MiB.
  EXPECT_EQ(bfc.usage().reserved_bytes, 6 * mib);
}

TEST(BestFit, the_smallest_place_then_the_lowest_then_the_end) {
  BestFitPolicy slab(1024 * mib);
  const Address large = get(slab, 4 * mib);
  get(slab, 512);
  const Address low = get(slab, 2 * mib);
  get(slab, 512);
  const Address high = get(slab, 2 * mib);
  get(slab, 512);
  for (const Address address : {large, low, high}) slab.free(address);
  EXPECT_EQ(get(slab, 2 * mib), low);
  EXPECT_EQ(get(slab, 2 * mib), high);
  EXPECT_EQ(get(slab, 2 * mib), large);
  EXPECT_EQ(get(slab, 2 * mib), large + 2 * mib);
  EXPECT_GT(get(slab, 2 * mib), high);
  EXPECT_EQ(slab.usage().device_calls, 1U);
}

TEST(BestFit, neighbours_join_at_once_in_any_order) {
  BestFitPolicy slab(8 * mib);
  std::vector<Address> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(get(slab, 2 * mib));
  EXPECT_TRUE(refuses(slab, 1));
  slab.free(blocks[0]);
  slab.free(blocks[2]);
  EXPECT_TRUE(refuses(slab, 4 * mib));
  slab.free(blocks[1]);
  EXPECT_EQ(get(slab, 6 * mib), blocks[0]);
}

TEST(BestFit, reserved_is_how_far_blocks_ever_reached) {
  BestFitPolicy slab(1024 * mib);
  const Address first = get(slab, 3 * mib);
  EXPECT_EQ(slab.usage().reserved_bytes, 4 * mib);
  const Address second = get(slab, 7 * mib);
  EXPECT_EQ(slab.usage().reserved_bytes, 10 * mib);
  slab.free(second);
  slab.free(first);
  EXPECT_EQ(get(slab, 9 * mib), first);
  EXPECT_EQ(slab.usage().reserved_bytes, 10 * mib);
}

TEST(BestFit, the_end_is_cut_into_only_where_no_hole_will_do) {
  BestFitPolicy slab(9 * mib);  // 8 MiB: whole units.
  const Address hole = get(slab, 4 * mib);
  get(slab, mib);
  slab.free(hole);  // 3 MiB are left behind the last block, a better fit by size.
  EXPECT_EQ(get(slab, 3 * mib), hole);
}

class SlabPolicies : public testing::TestWithParam<const char*> {};

TEST_P(SlabPolicies, keep_live_blocks_apart_whatever_happens) {
  std::mt19937_64 random(7);
  const auto policy = *make_policy(GetParam(), 256 * mib);
  std::map<Address, std::uint64_t> live;
  std::uint64_t requested = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (live.empty() || random() % 100 < 55) {
      const std::uint64_t bytes = random() % (random() % 50 == 0 ? 32 * mib : 128 * kib);
      const auto address = policy->allocate({bytes, Component::weights, 0});
      if (!address) continue;
      const auto next = live.lower_bound(*address);
      ASSERT_TRUE(next == live.end() || *address + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() ||
                  std::prev(next)->first + std::prev(next)->second <= *address);
      ASSERT_TRUE(live.emplace(*address, bytes).second);
      requested += bytes;
    } else {
      const auto chosen =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      policy->free(chosen->first);
      requested -= chosen->second;
      live.erase(chosen);
    }
    const Usage& usage = policy->usage();
    ASSERT_GE(usage.live_bytes, requested);
    ASSERT_GE(usage.reserved_bytes, usage.live_bytes);
    ASSERT_LE(usage.reserved_bytes, 256 * mib);
  }
  while (!live.empty()) {
    policy->free(live.begin()->first);
    live.erase(live.begin());
  }
  EXPECT_EQ(policy->usage().live_bytes, 0U);
  EXPECT_TRUE(policy->allocate({256 * mib, Component::other, 0}).has_value());
}

// What the capacity search relies on (replay.h): a run that reserved R goes the same way at every
// capacity from R to its own.
TEST_P(SlabPolicies, a_run_is_the_same_at_every_capacity_down_to_what_it_reserved) {
  std::mt19937_64 random(11);
  Trace trace;
  std::vector<std::uint32_t> live;
  std::vector<std::uint32_t> unused;
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 40 || (live.size() < 400 && random() % 2 == 0)) {
      if (unused.empty()) unused.push_back(trace.objects++);
      trace.events.push_back(
          {EventKind::allocate, Component::other, 0, unused.back(), random() % (2 * mib)});
      live.push_back(unused.back());
      unused.pop_back();
    } else {
      const std::size_t at = random() % live.size();
      trace.events.push_back({EventKind::free, Component::other, 0, live[at], 0});
      unused.push_back(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  std::uint64_t capacity = 4096 * mib;
  for (;;) {
    const auto wide = *make_policy(GetParam(), capacity);
    const ReplayResult run = replay(trace, *wide);
    if (!run.completed) break;
    const std::uint64_t reserved = run.usage.reserved_peak_bytes;
    for (const std::uint64_t between : {reserved, (reserved + capacity) / 2}) {
      const auto tight = *make_policy(GetParam(), between);
      const ReplayResult again = replay(trace, *tight);
      ASSERT_TRUE(again.completed) << between;
      ASSERT_EQ(again.usage.reserved_peak_bytes, reserved);
    }
    capacity = reserved - 2 * mib;
  }
  EXPECT_LT(capacity, 1024 * mib);
}

INSTANTIATE_TEST_SUITE_P(All, SlabPolicies, testing::Values("bfc", "best-fit"));

}  // namespace
}  // namespace headroom::allocator

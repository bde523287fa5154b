// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t granule = 512;

IterationBlock block(std::uint64_t bytes, std::uint32_t dies, StreamId stream = 0) {
  return {bytes, stream, dies};
}

// What must hold of every layout, found by looking at every moment.
void check(const Iteration& iteration, const Layout& layout) {
  ASSERT_EQ(layout.offsets.size(), iteration.size());
  std::uint64_t end = 0;
  std::uint64_t peak = 0;
  std::vector<std::uint32_t> live;
  for (std::uint32_t now = 0; now < iteration.size(); ++now) {
    std::erase_if(live, [&](std::uint32_t i) { return iteration[i].dies <= now; });
    const bool is_placed =
        iteration[now].dies != IterationBlock::never && iteration[now].stream == layout.stream;
    ASSERT_EQ(layout.offsets[now] != Layout::nowhere, is_placed) << now;
    if (!is_placed) continue;
    const std::uint64_t begin = layout.offsets[now];
    ASSERT_EQ(begin % granule, 0U) << now;
    std::uint64_t bytes = iteration[now].bytes;
    end = std::max(end, begin + bytes);
    for (const std::uint32_t other : live) {
      const std::uint64_t at = layout.offsets[other];
      ASSERT_TRUE(at >= begin + iteration[now].bytes || begin >= at + iteration[other].bytes)
          << "blocks " << other << " and " << now << " overlap";
      bytes += iteration[other].bytes;
    }
    live.push_back(now);
    peak = std::max(peak, bytes);
  }
  EXPECT_EQ(layout.bytes, end);
  EXPECT_EQ(layout.live_peak, peak);
  EXPECT_GE(layout.bytes, layout.live_peak);
}

TEST(Layout, of_nothing_takes_nothing) {
  EXPECT_EQ(lay_out({}).bytes, 0U);
  const Iteration lasting = {block(granule, IterationBlock::never)};
  const Layout layout = lay_out(lasting);
  check(lasting, layout);
  EXPECT_EQ(layout.bytes, 0U);
}

TEST(Layout, blocks_that_follow_each_other_share_a_place) {
  const Iteration iteration = {block(1024, 1), block(2048, 2), block(512, 3)};
  const Layout layout = lay_out(iteration);
  check(iteration, layout);
  EXPECT_EQ(layout.bytes, 2048U);
}

// A block that dies at k is free before allocation k, and not before k - 1.
TEST(Layout, a_block_may_lie_where_one_died_just_before) {
  const Iteration exact = {block(1024, 1), block(1024, 2)};
  EXPECT_EQ(lay_out(exact).bytes, 1024U);
  const Iteration late = {block(1024, 2), block(1024, 2)};
  EXPECT_EQ(lay_out(late).bytes, 2048U);
}

// What a stack does, as forward and backward do: no order needs more than the peak.
TEST(Layout, nested_lifetimes_need_no_more_than_the_peak) {
  Iteration iteration;
  Random random(5);
  const std::uint32_t layers = 200;
  for (std::uint32_t i = 0; i < layers; ++i)
    iteration.push_back(block((1 + random() % 1000) * granule, 2 * layers - i));
  for (std::uint32_t i = 0; i < layers; ++i) iteration.push_back(block(granule, layers + i + 1));
  const Layout layout = lay_out(iteration);
  check(iteration, layout);
  EXPECT_EQ(layout.bytes, layout.live_peak);
}

// The largest first needs a granule more here.
TEST(Layout, the_best_of_several_orders_is_taken) {
  const Iteration iteration = {block(4 * granule, 1), block(4 * granule, 3), block(4 * granule, 4),
                               block(1 * granule, 5), block(4 * granule, 5)};
  const Layout layout = lay_out(iteration);
  check(iteration, layout);
  EXPECT_EQ(layout.bytes, layout.live_peak);
}

TEST(Layout, only_the_stream_with_most_bytes_is_placed) {
  const Iteration iteration = {block(512, 3, 1), block(4096, 4, 2), block(512, 3, 1),
                               block(512, IterationBlock::never, 2)};
  const Layout layout = lay_out(iteration);
  check(iteration, layout);
  EXPECT_EQ(layout.stream, 2U);
  EXPECT_EQ(layout.bytes, 4096U);
}

TEST(Layout, no_two_blocks_overlap_whatever_their_lifetimes) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Iteration iteration;
    const std::uint32_t count = random() % 300;
    const std::uint32_t longest = 1 + random() % 80;
    const StreamId streams = 1 + random() % 2;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t granules = random() % 4 == 0 ? 1 + random() % 4000 : 1 + random() % 8;
      const std::uint32_t dies = std::min(count, i + 1 + random() % longest);
      const bool lasts = random() % 20 == 0;
      iteration.push_back(
          block(granules * granule, lasts ? IterationBlock::never : dies, random() % streams));
    }
    check(iteration, lay_out(iteration));
    ASSERT_FALSE(testing::Test::HasFailure()) << "with seed " << seed;
  }
}

}  // namespace
}  // namespace headroom::allocator

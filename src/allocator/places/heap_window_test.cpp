// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "allocator/places/paged_core.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// All 16 pages of the capacity are in use, one to a block. Then every second one of the lower ones
// goes, for a block of five pages that a repair puts above all of them, and at last everything but
// the lowest goes as well: what is left is one stretch of free bytes with five holes in it.
struct Punctured : testing::Test {
  Punctured() {
    for (SegmentId& block : blocks_) block = allocate(page_bytes);
    for (const std::size_t i : {1, 3, 5, 7, 9}) release(i);
    const SegmentId moved = allocate(5 * page_bytes);
    EXPECT_EQ(core_.counts().moved_pages, 5U);
    for (const std::size_t i : {2, 4, 6, 8, 10, 11, 12, 13, 14, 15}) release(i);
    core_.release(moved);
    core_.publish(0);
  }

  SegmentId allocate(std::uint64_t bytes) {
    const SegmentId id = core_.find_ready(bytes, 0);
    return id != no_segment ? id : core_.find(bytes, 0);
  }
  void release(std::size_t i) {
    addresses_[i] = core_.segment(blocks_[i]).address;
    core_.release(blocks_[i]);
    core_.publish(0);
  }

  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
  DevicePool pool_{faulty_, 32 * mib};
  PagedCore core_{pool_, 256 * mib};
  std::array<SegmentId, 16> blocks_{};
  std::array<std::uint64_t, 16> addresses_{};
};

TEST_F(Punctured, a_block_fills_several_holes_where_that_moves_the_fewest_pages) {
  EXPECT_EQ(core_.pages_to_move(15 * page_bytes, 0), 2U);
  const SegmentId block = allocate(15 * page_bytes);
  ASSERT_NE(block, no_segment);
  EXPECT_EQ(core_.counts().moved_pages, 7U) << "above all of them it would be four";
  EXPECT_EQ(core_.segment(block).address, addresses_[6]);
  EXPECT_EQ(core_.segment(block).bytes, 15 * page_bytes);
  EXPECT_EQ(core_.broken_invariant(), "");
}

TEST_F(Punctured, a_block_may_begin_and_end_within_what_is_free) {
  const SegmentId block = allocate(14 * page_bytes - mib);
  ASSERT_NE(block, no_segment);
  EXPECT_EQ(core_.segment(block).bytes, 14 * page_bytes - mib);
  EXPECT_EQ(core_.counts().moved_pages, 7U);
  EXPECT_EQ(core_.broken_invariant(), "");
  core_.release(block);
  core_.publish(0);
  EXPECT_NE(allocate(15 * page_bytes), no_segment);
  EXPECT_EQ(core_.broken_invariant(), "");
}

TEST_F(Punctured, what_the_device_refuses_halfway_stays_free) {
  for (const std::uint64_t at : {1, 2}) {
    faulty_.fail(BackendCall::map, faulty_.calls(BackendCall::map) + at, 100);
    EXPECT_EQ(allocate(15 * page_bytes), no_segment) << at;
    EXPECT_EQ(core_.broken_invariant(), "") << at;
  }
  faulty_.fail(BackendCall::map, 1);  // It was long ago.
  EXPECT_NE(allocate(15 * page_bytes), no_segment);
  EXPECT_EQ(core_.broken_invariant(), "");
}

}  // namespace
}  // namespace headroom::allocator

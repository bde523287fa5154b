// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/paged_core.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

struct LargeHandles : testing::Test {
  LargeHandles() { pool_.use_large_handles(32); }

  SegmentId allocate(std::uint64_t bytes) {
    SegmentId id = core_.find_ready(bytes, 0);
    if (id == no_segment) id = core_.find(bytes, 0);
    return id;
  }

  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
  DevicePool pool_{faulty_, 64 * mib};
  PagedCore core_{pool_, 256 * mib};
};

TEST_F(LargeHandles, one_call_creates_what_many_pages_need) {
  const SegmentId block = allocate(32 * mib);
  ASSERT_NE(block, no_segment);
  EXPECT_EQ(faulty_.calls(BackendCall::create), 1U);
  EXPECT_EQ(faulty_.calls(BackendCall::map), 1U);
  EXPECT_EQ(faulty_.calls(BackendCall::allow_access), 1U);
}

// The handle of the middle is held by what lives at its end.
TEST_F(LargeHandles, a_repair_takes_whole_handles_and_breaks_them_up) {
  const SegmentId low = allocate(16 * mib);
  const SegmentId middle = allocate(16 * mib);
  const SegmentId high = allocate(16 * mib);
  const SegmentId rest = allocate(16 * mib);
  core_.release(low);
  core_.release(high);
  core_.publish(0);
  const SegmentId pin = allocate(mib);  // In the lower of both.
  ASSERT_NE(pin, no_segment);
  HeapView view;
  for (const Tiling* tiling : core_.tilings()) tiling->add_to(view, 0);
  std::uint64_t pinned = 0;
  for (const FreePiece& piece : view.free) pinned += piece.pinned_bytes;
  EXPECT_EQ(pinned, 14 * mib);
  const SegmentId moved = allocate(15 * mib);
  ASSERT_NE(moved, no_segment) << "where it is, the upper one fits";
  core_.release(moved);
  core_.publish(0);
  EXPECT_EQ(allocate(18 * mib), no_segment) << "only 16 of the 31 free ones can move";
  core_.release(pin);
  core_.publish(0);
  EXPECT_NE(allocate(18 * mib), no_segment);
  EXPECT_GE(core_.counts().repairs, 1U);
  EXPECT_EQ(core_.broken_invariant(), "");
  core_.release(middle);
  core_.release(rest);
}

// A job that grows although much is free has its free memory in pieces. One block that comes to lie
// in the new memory must not pin all of it.
TEST_F(LargeHandles, what_grows_beside_free_pieces_moves_page_by_page) {
  const SegmentId low = allocate(8 * mib);
  const SegmentId middle = allocate(8 * mib);
  const SegmentId high = allocate(8 * mib);
  EXPECT_EQ(faulty_.calls(BackendCall::create), 3U);
  core_.release(middle);
  core_.publish(0);
  const SegmentId large = allocate(16 * mib);
  EXPECT_EQ(faulty_.calls(BackendCall::create), 3U + 8U);
  EXPECT_EQ(core_.counts().repairs, 0U);
  ASSERT_NE(allocate(24 * mib), no_segment) << "all that is left";
  core_.release(large);
  core_.publish(0);
  const SegmentId pin = allocate(9 * mib);
  EXPECT_EQ(core_.counts().repairs, 0U);
  EXPECT_NE(allocate(14 * mib), no_segment) << "three pages beside the pin and four below";
  EXPECT_EQ(core_.counts().repairs, 1U);
  EXPECT_EQ(core_.broken_invariant(), "");
  for (const SegmentId each : {low, high, pin}) core_.release(each);
}

// Whatever fits into what can be moved is found, and what the core says it holds is mapped.
TEST_F(LargeHandles, nothing_is_lost_whatever_comes_and_goes) {
  std::uint64_t repairs = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SimulatedBackend device;
    FaultyBackend faulty(device);
    DevicePool pool(faulty, 96 * mib);
    PagedCore core(pool, 256 * mib);
    std::vector<SegmentId> live;
    std::uint64_t refused = 0;
    for (int i = 0; i < 4000; ++i) {
      if (i == 500) pool.use_large_handles(32);
      if (random() % 400 == 0)
        faulty.fail(static_cast<BackendCall>(random() % 6), 1 + faulty.calls(BackendCall::map));
      if (!live.empty() && random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        core.release(live.back());
        live.pop_back();
        core.publish(0);
        continue;
      }
      const std::uint64_t bytes = (1 + random() % (random() % 8 == 0 ? 40000 : 3000)) * 512;
      SegmentId id = core.find_ready(bytes, 0);
      if (id == no_segment) id = core.find(bytes, 0);
      if (id == no_segment)
        ++refused;
      else
        live.push_back(id);
    }
    ASSERT_EQ(core.broken_invariant(), "") << "seed " << seed;
    std::uint64_t mapped = 0;
    for (const Tiling* tiling : core.tilings())
      mapped += tiling->bytes_in(SegmentState::used) + tiling->bytes_in(SegmentState::free);
    EXPECT_EQ(device.table().mapped_pages() * page_bytes, mapped) << "seed " << seed;
    EXPECT_EQ(device.table().pages() * page_bytes, pool.totals().reserved_bytes);
    EXPECT_LE(pool.totals().reserved_bytes, 96 * mib);
    EXPECT_LT(refused, 3000U);
    repairs += core.counts().repairs;
  }
  EXPECT_GT(repairs, 20U);
}

TEST_F(LargeHandles, all_goes_back_in_the_end) {
  {
    DevicePool pool(device_, 64 * mib);
    pool.use_large_handles(32);
    PagedCore core(pool, 128 * mib);
    const SegmentId first = core.find(7 * mib, 0);
    ASSERT_NE(core.find(21 * mib, 0), no_segment);
    core.release(first);
    ASSERT_NE(core.find(5 * mib, 0), no_segment);
  }
  EXPECT_EQ(device_.table().pages(), 0U);
  EXPECT_EQ(device_.table().mapped_pages(), 0U);
}

// Every search goes through all indexes, and each index takes some kilobytes.
TEST(ManyStreams, there_are_indexes_for_so_many_of_them_only) {
  SimulatedBackend device;
  DevicePool pool(device, 8192 * mib);
  PagedCore core(pool, 16384 * mib);
  std::vector<SegmentId> live;
  const auto allocate = [&](StreamId stream) {
    SegmentId id = core.find_ready(700 * 1024, stream);
    if (id == no_segment) id = core.find(700 * 1024, stream);
    core.segment(id).stream = stream;
    return id;
  };
  const auto expect_few = [&] {
    for (const Tiling* tiling : core.tilings()) ASSERT_LE(tiling->stream_count(), 66U);
  };
  for (StreamId stream = 0; stream < 1000; ++stream) {
    live.push_back(allocate(stream));
    expect_few();
  }
  for (const SegmentId id : live) {
    core.release(id);
    expect_few();
  }
  // Each stream allocates all that it has freed, so that it has nothing free left.
  for (StreamId stream = 0; stream < 1000; ++stream) {
    core.release(allocate(stream));
    live[stream] = allocate(stream);
    expect_few();
  }
  EXPECT_EQ(core.broken_invariant(), "");
}

struct Plenty : testing::Test {
  static constexpr std::uint64_t gib = 1024 * mib;

  // Allocates blocks of this size until `bytes` are live.
  void fill(PagedCore& core, std::uint64_t block, std::uint64_t bytes) {
    for (std::uint64_t live = 0; live < bytes; live += block) {
      const SegmentId ready = core.find_ready(block, 0);
      ASSERT_TRUE(ready != no_segment || core.find(block, 0) != no_segment);
      ASSERT_EQ(core.broken_invariant(), "");
    }
  }

  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
};

TEST_F(Plenty, memory_is_taken_many_pages_at_once) {
  DevicePool pool(faulty_, 64 * gib);
  PagedCore core(pool, gib);
  fill(core, 3 * mib, 2 * gib);
  EXPECT_LE(faulty_.calls(BackendCall::create), 110U) << "page by page they would be 1024";
  EXPECT_EQ(faulty_.calls(BackendCall::map), faulty_.calls(BackendCall::create));
  EXPECT_LE(pool.totals().reserved_bytes, 2 * gib + 64 * mib);
}

TEST_F(Plenty, ends_before_a_sixteenth_of_the_capacity_is_held) {
  DevicePool pool(faulty_, 4 * gib);
  PagedCore core(pool, gib);
  fill(core, 2 * mib, 256 * mib);
  const std::uint64_t plenty = faulty_.calls(BackendCall::create);
  EXPECT_LE(plenty, 20U);
  fill(core, 2 * mib, 256 * mib);
  EXPECT_EQ(faulty_.calls(BackendCall::create), plenty + 128) << "each page can move by itself now";
}

TEST_F(Plenty, is_not_assumed_where_a_handle_could_not_be_broken_up) {
  Capabilities can = SimulatedBackend::assumed_capabilities();
  can.destroy_returns_memory = false;
  SimulatedBackend device(SimulatedBackend::default_page_limit, can);
  DevicePool pool(device, 64 * gib);
  PagedCore core(pool, gib);
  fill(core, 2 * mib, 8 * mib);
  EXPECT_EQ(pool.totals().reserved_bytes, 8 * mib);
}

// Others hold what the capacity promises. What a block does not need must not make it fail.
TEST_F(Plenty, does_not_fail_for_memory_that_the_block_did_not_need) {
  SimulatedBackend small(21);
  DevicePool pool(small, 64 * gib);
  PagedCore core(pool, gib);
  fill(core, 32 * mib, 32 * mib);
  EXPECT_NE(core.find(10 * mib, 0), no_segment);
  EXPECT_EQ(pool.totals().reserved_bytes, 42 * mib);
  EXPECT_EQ(core.find(2 * mib, 0), no_segment);
  EXPECT_EQ(core.broken_invariant(), "");
}

// The blocks are numbered in the order of their births, as a shard numbers them.
struct Ages : testing::Test {
  static constexpr std::uint64_t capacity = 48 * mib;

  SegmentId allocate(PagedCore& core, std::uint64_t bytes) {
    SegmentId id = core.find_ready(bytes, 0);
    if (id == no_segment) id = core.find(bytes, 0);
    EXPECT_NE(id, no_segment);
    if (id != no_segment) core.segment(id).birth = ++births_;
    return id;
  }
  // Where a block of `bytes` comes to lie in the 16 MiB between two others, of which the upper one
  // is the younger one or not.
  std::uint64_t offset_in_gap(PagedCore& core, std::uint64_t bytes, bool is_younger_above) {
    const SegmentId low = allocate(core, 8 * mib);
    const SegmentId middle = allocate(core, 16 * mib);
    const SegmentId high = allocate(core, 8 * mib);
    if (!is_younger_above) std::swap(core.segment(low).birth, core.segment(high).birth);
    const std::uint64_t begin = core.segment(middle).address;
    core.release(middle);
    core.publish(0);
    const SegmentId block = allocate(core, bytes);
    EXPECT_EQ(core.broken_invariant(), "");
    return core.segment(block).address - begin;
  }

  std::uint64_t births_ = 0;
  SimulatedBackend device_;
  DevicePool pool_{device_, capacity};
  PagedCore core_{pool_, 256 * mib};
};

TEST_F(Ages, a_large_block_lies_beside_the_younger_neighbour) {
  EXPECT_EQ(offset_in_gap(core_, 10 * mib, true), 6 * mib);
}

TEST_F(Ages, which_may_be_the_lower_one) {
  EXPECT_EQ(offset_in_gap(core_, 10 * mib, false), 0U);
}

TEST_F(Ages, a_block_of_less_than_two_pages_lies_below) {
  EXPECT_EQ(offset_in_gap(core_, 3 * mib, true), 0U);
}

TEST_F(Ages, where_memory_is_plenty_all_blocks_lie_below) {
  SimulatedBackend device;
  DevicePool pool(device, 1024 * mib);
  PagedCore core(pool, 256 * mib);
  EXPECT_EQ(offset_in_gap(core, 10 * mib, true), 0U);
}

// Blocks in a gap between two others, of which the upper one is the younger one or not.
struct Gap : Ages {
  void make(std::uint64_t below, std::uint64_t bytes, std::uint64_t above, bool is_younger_above) {
    const SegmentId low = allocate(core_, below);
    const SegmentId middle = allocate(core_, bytes);
    const SegmentId high = allocate(core_, above);
    if (!is_younger_above) std::swap(core_.segment(low).birth, core_.segment(high).birth);
    begin_ = core_.segment(middle).address;
    drop(middle);
  }
  void grow_although_much_is_free() { allocate(core_, 16 * mib); }
  void drop(SegmentId block) {
    core_.release(block);
    core_.publish(0);
  }
  std::uint64_t offset(std::uint64_t bytes) {
    const SegmentId block = allocate(core_, bytes);
    const std::uint64_t address = core_.segment(block).address;
    EXPECT_EQ(core_.broken_invariant(), "");
    drop(block);
    return address - begin_;
  }

  std::uint64_t begin_ = 0;
};

TEST_F(Gap, where_free_memory_lies_in_pieces_a_block_of_whole_pages_begins_at_a_border) {
  make(7 * mib, 12 * mib, 9 * mib, true);
  EXPECT_EQ(offset(4 * mib), 8 * mib) << "nothing tells of pieces yet";
  grow_although_much_is_free();
  EXPECT_EQ(offset(4 * mib), 7 * mib);
  EXPECT_EQ(offset(2 * mib), 9 * mib);
  EXPECT_EQ(offset(5 * mib), 7 * mib) << "it fills no pages, and lies beside its neighbour";
  EXPECT_EQ(offset(12 * mib), 0U) << "there is room only where it fills no pages";
}

TEST_F(Gap, which_is_the_lower_end_where_only_that_touches_one) {
  make(8 * mib, 11 * mib, 9 * mib, true);
  grow_although_much_is_free();
  EXPECT_EQ(offset(4 * mib), 0U) << "the younger neighbour is above";
}

TEST_F(Gap, or_the_upper_end) {
  make(7 * mib, 13 * mib, 8 * mib, false);
  grow_although_much_is_free();
  EXPECT_EQ(offset(4 * mib), 9 * mib) << "the younger neighbour is below";
}

// As in a backward pass: activations go in the reverse order, and gradients, which are smaller,
// take their places. What all but the first of them leave is one piece; the first leaves its rest
// beside the hole above the stack.
TEST_F(Ages, what_is_left_of_a_stack_that_shrinks_is_one_piece) {
  std::vector<SegmentId> stack;
  for (std::uint64_t i = 0; i < capacity / (6 * mib); ++i)
    stack.push_back(allocate(core_, 6 * mib));
  for (int i = 0; i < 5; ++i) {
    core_.release(stack.back());
    core_.publish(0);
    stack.pop_back();
    allocate(core_, 5 * mib);
  }
  EXPECT_NE(core_.find_ready(4 * mib, 0), no_segment);
  EXPECT_EQ(core_.counts().repairs, 0U);
  EXPECT_EQ(core_.broken_invariant(), "");
}

}  // namespace
}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/busy_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

class GraphPools : public testing::TestWithParam<bool> {
 protected:
  Address must(std::uint64_t bytes, StreamId stream = 0) {
    const auto address = allocator_.allocate({bytes, Component::other, stream});
    EXPECT_TRUE(address.has_value()) << bytes;
    EXPECT_EQ(allocator_.broken_invariant(), "");
    return address.value_or(0);
  }

  SimulatedBackend device_;
  BusyBackend busy_{device_};
  HeadroomAllocator allocator_{busy_, 64 * mib, {.virtual_memory = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(VirtualMemory, GraphPools, testing::Bool());

TEST_P(GraphPools, a_captured_stream_is_neither_asked_nor_waited_for) {
  const Address before = must(20 * mib, 1);
  busy_.queue(1);
  allocator_.free(before);
  const Address shared = must(4 * mib, 2);
  allocator_.record_stream(shared, 1);
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  busy_.forbid(1, true);
  allocator_.free(shared);  // Nothing can be recorded on the stream now.
  must(8 * mib, 1);
  must(24 * mib, 2);
  EXPECT_EQ(allocator_.allocate({40 * mib, Component::other, 2}), std::nullopt);
  EXPECT_EQ(busy_.violations(), 0U);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  busy_.forbid(1, false);
  EXPECT_NE(allocator_.allocate({28 * mib, Component::other, 2}), std::nullopt);
  EXPECT_EQ(busy_.violations(), 0U);
}

// Whatever other streams need: the graph touches its addresses each time it runs, those of blocks
// that were freed during the capture as well.
TEST_P(GraphPools, memory_of_a_pool_stays_where_it_is) {
  const Address others = must(28 * mib, 2);
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  std::vector<Address> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(must(4 * mib, 1));
  for (std::size_t i = 0; i < 6; i += 2) allocator_.free(blocks[i]);
  bool lost = false;
  busy_.on_loss([&](Address address, std::uint64_t bytes) {
    for (const Address block : blocks)
      lost = lost || (address < block + 4 * mib && block < address + bytes);
  });
  must(12 * mib, 1);  // More than any of its holes, and all that the device has left.
  EXPECT_EQ(allocator_.allocate({8 * mib, Component::other, 1}), std::nullopt);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  ASSERT_TRUE(allocator_.begin_pool(7, 3).has_value());
  EXPECT_EQ(allocator_.allocate({8 * mib, Component::other, 3}), std::nullopt);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  EXPECT_EQ(allocator_.allocate({8 * mib, Component::other, 2}), std::nullopt);
  allocator_.free(others);
  must(20 * mib, 2);
  EXPECT_FALSE(lost);
  busy_.on_loss({});
  EXPECT_EQ(allocator_.broken_invariant(), "");
}

TEST_P(GraphPools, a_released_pool_gives_its_memory_back_as_it_is_freed) {
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  const Address kept = must(20 * mib, 1);
  allocator_.free(must(24 * mib, 1));
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  EXPECT_EQ(allocator_.allocate({40 * mib, Component::other, 1}), std::nullopt);
  EXPECT_TRUE(allocator_.release_pool(7).has_value());
  const Address large = must(40 * mib, 1);
  // Another pool gets the same shard while a block of the first one lives.
  ASSERT_TRUE(allocator_.begin_pool(8, 1).has_value());
  EXPECT_EQ(allocator_.block_bytes(kept), 20 * mib);
  allocator_.free(kept);
  allocator_.free(kept);
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 1U);
  must(20 * mib, 1);
  EXPECT_TRUE(allocator_.end_pool(8).has_value());
  EXPECT_TRUE(allocator_.release_pool(8).has_value());
  allocator_.free(large);
  must(40 * mib, 2);
}

TEST_P(GraphPools, a_pool_is_filled_by_several_streams_and_used_again) {
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  ASSERT_TRUE(allocator_.begin_pool(7, 2).has_value());
  busy_.forbid(1, true);
  busy_.forbid(2, true);
  const Address first = must(4 * mib, 1);
  allocator_.free(first);
  must(2 * mib, 2);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  busy_.forbid(1, false);
  busy_.forbid(2, false);
  EXPECT_NE(must(4 * mib, 1), first);
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  EXPECT_EQ(must(4 * mib, 1), first);
  EXPECT_EQ(busy_.violations(), 0U);
}

TEST_P(GraphPools, there_are_only_so_many_at_a_time) {
  HeadroomAllocator::PoolId pool = 1;
  while (allocator_.begin_pool(pool, 1)) EXPECT_TRUE(allocator_.end_pool(pool++).has_value());
  EXPECT_EQ(pool, 49U);
  const Status refused = allocator_.begin_pool(pool, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("48"), std::string::npos);
  EXPECT_TRUE(allocator_.release_pool(1).has_value());
  EXPECT_TRUE(allocator_.begin_pool(pool, 1).has_value());
}

TEST_P(GraphPools, a_pool_that_nobody_began_is_an_error) {
  ASSERT_TRUE(allocator_.begin_pool(7, 1).has_value());
  const Status ended = allocator_.end_pool(8);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, Errc::invalid);
  EXPECT_NE(ended.error().message.find("pool 8"), std::string::npos) << ended.error().message;
  EXPECT_FALSE(allocator_.release_pool(8).has_value());
  const Address captured = must(4 * mib, 1);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  EXPECT_TRUE(allocator_.end_pool(7).has_value()) << "it is there, and nobody fills it";
  allocator_.free(captured);
  EXPECT_TRUE(allocator_.release_pool(7).has_value());
  EXPECT_FALSE(allocator_.end_pool(7).has_value()) << "it is gone";
  EXPECT_FALSE(allocator_.release_pool(7).has_value());
}

TEST_P(GraphPools, two_threads_that_begin_pools_at_once_get_different_memory) {
  for (HeadroomAllocator::PoolId round = 0; round < 20; ++round) {
    std::vector<Address> got(2);
    std::vector<std::thread> threads;
    for (StreamId i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        ASSERT_TRUE(allocator_.begin_pool(2 * round + i, i).has_value());
        allocator_.free(allocator_.allocate({mib, Component::other, i}).value_or(0));
        EXPECT_TRUE(allocator_.end_pool(2 * round + i).has_value());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (StreamId i = 0; i < 2; ++i) {
      ASSERT_TRUE(allocator_.begin_pool(2 * round + i, i).has_value());
      got[i] = must(mib, i);
      EXPECT_TRUE(allocator_.end_pool(2 * round + i).has_value());
    }
    EXPECT_NE(got[0], got[1]);
    for (StreamId i = 0; i < 2; ++i) {
      allocator_.free(got[i]);
      EXPECT_TRUE(allocator_.release_pool(2 * round + i).has_value());
    }
  }
}

}  // namespace
}  // namespace headroom::allocator

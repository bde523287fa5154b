// SPDX-License-Identifier: Apache-2.0
// Memory that goes back to the device on request, a capacity that changes, and frees that name the
// streams that used the block.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

class Trim : public testing::TestWithParam<bool> {
 protected:
  Address must(std::uint64_t bytes, StreamId stream = 0) {
    const auto address = allocator_.allocate({.bytes = bytes, .stream = stream});
    EXPECT_TRUE(address.has_value()) << bytes;
    EXPECT_EQ(allocator_.broken_invariant(), "");
    return address.value_or(0);
  }

  SimulatedBackend device_{SimulatedBackend::default_page_limit,
                           GetParam() ? SimulatedBackend::assumed_capabilities()
                                      : SimulatedBackend::without_virtual_memory()};
  HeadroomAllocator allocator_{device_, 256 * mib};
};

TEST_P(Trim, what_is_wholly_free_goes_back_and_live_blocks_stay) {
  const Address kept = must(20 * mib);
  const Address freed = must(40 * mib);
  allocator_.free(freed);
  EXPECT_EQ(allocator_.usage().reserved_bytes, 60 * mib);
  EXPECT_EQ(allocator_.trim(), 40 * mib);
  EXPECT_EQ(allocator_.usage().reserved_bytes, 20 * mib);
  EXPECT_EQ(allocator_.broken_invariant(), "");
  EXPECT_EQ(allocator_.trim(), 0U);
  must(236 * mib);
  EXPECT_EQ(allocator_.block_bytes(kept), 20 * mib);
}

TEST_P(Trim, a_graphs_memory_stays_until_its_pool_is_released) {
  ASSERT_TRUE(allocator_.begin_pool(7, 3));
  const Address captured = must(32 * mib, 3);
  EXPECT_TRUE(allocator_.end_pool(7).has_value());
  allocator_.free(captured);
  EXPECT_EQ(allocator_.trim(), 0U) << "the graph still writes there";
  EXPECT_EQ(allocator_.allocate({.bytes = 250 * mib}), std::nullopt);
  EXPECT_TRUE(allocator_.release_pool(7).has_value());
  allocator_.trim();
  EXPECT_EQ(allocator_.usage().reserved_bytes, 0U);
  must(250 * mib);
}

TEST_P(Trim, a_smaller_capacity_holds_at_once_for_what_is_free_and_later_for_what_lives) {
  const Address first = must(64 * mib);
  const Address second = must(64 * mib);
  allocator_.free(second);
  allocator_.set_capacity(32 * mib);
  EXPECT_EQ(allocator_.usage().reserved_bytes, 64 * mib);
  EXPECT_EQ(allocator_.broken_invariant(), "");
  EXPECT_EQ(allocator_.allocate({.bytes = 4 * mib}), std::nullopt);
  allocator_.free(first);
  EXPECT_EQ(allocator_.allocate({.bytes = 33 * mib}), std::nullopt);
  allocator_.trim();
  must(32 * mib);
  EXPECT_EQ(allocator_.usage().reserved_bytes, 32 * mib);
  allocator_.set_capacity(256 * mib);
  must(200 * mib);
}

TEST_P(Trim, a_free_that_names_another_stream_waits_for_it) {
  const Address block = must(16 * mib, 1);
  const std::array<StreamId, 2> streams = {1, 2};
  EXPECT_TRUE(allocator_.free_after(block, streams));
  EXPECT_FALSE(allocator_.free_after(block, streams)) << "freed already";
  EXPECT_EQ(allocator_.usage().live_bytes, 0U);
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 1U);
  EXPECT_NE(must(16 * mib, 1), block) << "stream 2 has not been waited for";
  allocator_.synchronize(2);
  EXPECT_EQ(allocator_.broken_invariant(), "");
}

TEST_P(Trim, a_block_is_found_by_any_address_in_it) {
  const Address block = must(3 * mib);
  must(3 * mib, 2);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, 3 * mib - 1}) {
    const auto found = allocator_.block_around(block + offset);
    ASSERT_TRUE(found) << offset;
    EXPECT_EQ(found->address, block);
    EXPECT_EQ(found->bytes, 3 * mib);
  }
  EXPECT_FALSE(allocator_.block_around(block - 1));
  EXPECT_FALSE(allocator_.block_around(0));
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutVirtualMemory, Trim, testing::Bool());

}  // namespace
}  // namespace headroom::allocator

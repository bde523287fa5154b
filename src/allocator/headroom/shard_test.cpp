// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/shard.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/places/paged_core.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A shard whose job has a plan: one that missed once and repeats.
class PlannedShard : public testing::Test {
 protected:
  static constexpr std::uint64_t capacity = 188 * mib;

  void SetUp() override {
    for (int i = 0; i < 4; ++i) allocate(2 * mib);
    std::vector<Address> pages;
    for (int i = 0; i < 90; ++i) pages.push_back(allocate(2 * mib));
    for (std::size_t i = 0; i < pages.size(); i += 2) shard_.free(pages[i]);
    for (int i = 0; i < 12; ++i) step();
    ASSERT_GT(shard_.plan_counts().plans, 0U);
    ASSERT_EQ(shard_.plan_counts().broken, 0U);
  }

  Address allocate(std::uint64_t bytes, StreamId stream = 0) {
    const Request request{bytes, Component::other, stream};
    const Address address = shard_.ready(request, bytes);
    return address != no_address ? address : shard_.hard(request, bytes, Shard::Plan::break_up);
  }
  void step(const std::function<void(const std::vector<Address>&)>& middle = {}) {
    constexpr std::uint64_t unit = mib + mib / 2;
    std::vector<Address> live;
    for (std::uint64_t i = 0; i < 16; ++i) {
      live.push_back(allocate(unit * (1 + i % 3)));
      shard_.free(allocate(unit));
    }
    if (middle) middle(live);
    for (; !live.empty(); live.pop_back()) {
      shard_.free(allocate(2 * unit));
      shard_.free(live.back());  // Twice for some: it is ignored.
    }
  }
  // Takes all that is left, so that the plan must go.
  std::vector<Address> exhaust() {
    std::vector<Address> taken;
    while (shard_.plan_counts().broken == 0) {
      taken.push_back(allocate(2 * mib));
      if (taken.back() == 0) break;
    }
    EXPECT_EQ(shard_.plan_counts().broken, 1U);
    EXPECT_EQ(shard_.broken_invariant(), "");
    return taken;
  }

  SimulatedBackend device_{capacity / page_bytes};
  FaultyBackend faulty_{device_};
  DevicePool pool_{faulty_, capacity};
  Shard shard_{std::make_unique<PagedCore>(pool_, 512 * mib), pool_, {}};
};

TEST_F(PlannedShard, a_broken_plan_leaves_blocks_that_are_still_shared) {
  step([this](const std::vector<Address>& live) {
    ASSERT_TRUE(shard_.record_stream(live[5], 9));
    const std::vector<Address> taken = exhaust();
    EXPECT_EQ(shard_.block_bytes(live[5]), 4 * mib + mib / 2);
    EXPECT_TRUE(shard_.free(live[5]));
    EXPECT_FALSE(shard_.free(live[5])) << "it is not live any more";
    std::vector<Address> more;
    while (const Address address = shard_.ready({mib / 2, Component::other, 0}, mib / 2)) {
      EXPECT_TRUE(address < live[5] || address >= live[5] + 4 * mib + mib / 2)
          << "stream 9 may still use it";
      more.push_back(address);
    }
    for (const Address address : more) shard_.free(address);
    for (const Address address : taken) shard_.free(address);
  });
  EXPECT_EQ(shard_.broken_invariant(), "");
}

// The device does not wait for a stream that is being captured.
TEST_F(PlannedShard, a_free_that_still_waits_when_the_plan_goes_is_neither_live_nor_lost) {
  step([this](const std::vector<Address>& live) {
    ASSERT_TRUE(shard_.record_stream(live[5], 9));
    ASSERT_TRUE(shard_.free(live[5]));
    faulty_.fail(BackendCall::wait, faulty_.calls(BackendCall::wait) + 1, 1000000);
    const std::vector<Address> taken = exhaust();
    for (const Address address : taken) {
      if (address == 0) continue;
      EXPECT_TRUE(address + 2 * mib <= live[5] || address >= live[5] + 4 * mib + mib / 2)
          << "stream 9 may still use it";
    }
    EXPECT_FALSE(shard_.free(live[5]));
    EXPECT_EQ(shard_.block_bytes(live[5]), std::nullopt);
    for (const Address address : taken) shard_.free(address);
    faulty_.fail(BackendCall::wait, 1, 1);
  });
  EXPECT_EQ(shard_.broken_invariant(), "");
  ASSERT_TRUE(pool_.wait_for(9).has_value());
  EXPECT_EQ(shard_.give_up(capacity, Shard::Plan::break_up), capacity - 49 * 2 * mib)
      << "all but weights and pages";
}

// But not by an allocation, which has other memory.
TEST_F(PlannedShard, without_an_event_the_stream_itself_is_waited_for) {
  const Address block = allocate(6 * mib);  // Too large for any slot.
  const std::uint64_t before = shard_.set_aside_bytes();
  ASSERT_TRUE(shard_.record_stream(block, 9));
  faulty_.fail(BackendCall::record, faulty_.calls(BackendCall::record) + 1);
  ASSERT_TRUE(shard_.free(block));
  EXPECT_EQ(shard_.block_bytes(block), std::nullopt);
  EXPECT_FALSE(shard_.free(block));
  static_cast<void>(allocate(512));
  EXPECT_EQ(shard_.set_aside_bytes(), before + 6 * mib) << "it waits";
  faulty_.fail(BackendCall::wait, faulty_.calls(BackendCall::wait) + 1);
  static_cast<void>(shard_.give_up(page_bytes, Shard::Plan::keep));
  EXPECT_EQ(shard_.set_aside_bytes(), before + 6 * mib) << "the wait has failed";
  static_cast<void>(shard_.give_up(page_bytes, Shard::Plan::keep));
  EXPECT_EQ(shard_.set_aside_bytes(), before) << "the second wait has succeeded";
  EXPECT_EQ(shard_.broken_invariant(), "");
}

}  // namespace
}  // namespace headroom::allocator

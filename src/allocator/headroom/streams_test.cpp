// SPDX-License-Identifier: Apache-2.0
// No block is handed out, and no page is taken away, before the work that may still touch it is
// done: on a device whose streams are busy until the test says otherwise.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/busy_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

class Streams : public testing::TestWithParam<bool> {
 protected:
  Address must(std::uint64_t bytes, StreamId stream) {
    const auto address = allocator_.allocate({bytes, Component::other, stream});
    EXPECT_TRUE(address.has_value()) << bytes;
    return address.value_or(0);
  }

  SimulatedBackend device_;
  BusyBackend busy_{device_};
  HeadroomAllocator allocator_{busy_, 64 * mib, {.virtual_memory = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(VirtualMemory, Streams, testing::Bool());

TEST_P(Streams, a_block_of_a_busy_stream_goes_to_another_only_when_it_is_idle) {
  const Address block = must(4 * mib, 1);
  busy_.queue(1);
  allocator_.free(block);
  EXPECT_NE(must(4 * mib, 2), block);
  busy_.finish(1);
  EXPECT_EQ(must(4 * mib, 2), block);
  EXPECT_EQ(busy_.waits(), 0U);
}

// A stream without memory of its own borrows another's. What it frees there is its own to reuse.
TEST_P(Streams, a_borrowed_block_goes_back_to_the_stream_that_freed_it_at_once) {
  allocator_.free(must(4 * mib, 1));
  for (const std::uint64_t bytes : {4 * mib, 4 * kib}) {
    const Address block = must(bytes, 2);
    busy_.queue(2);
    allocator_.free(block);
    EXPECT_EQ(must(bytes, 2), block);
    EXPECT_NE(must(bytes, 3), block) << "the second stream is not done";
  }
  EXPECT_EQ(busy_.waits(), 0U);
  EXPECT_EQ(allocator_.broken_invariant(), "");
}

TEST_P(Streams, a_shared_block_waits_for_the_last_of_its_streams) {
  const Address block = must(4 * mib, 1);
  allocator_.record_stream(block, 2);
  allocator_.record_stream(block, 3);
  busy_.queue(2);
  busy_.queue(3);
  allocator_.free(block);
  EXPECT_EQ(allocator_.usage().live_bytes, 0U);
  EXPECT_NE(must(4 * mib, 1), block);
  busy_.finish(3);
  EXPECT_NE(must(4 * mib, 1), block);
  busy_.finish(2);
  EXPECT_EQ(must(4 * mib, 1), block);
  EXPECT_EQ(allocator_.broken_invariant(), "");
  EXPECT_EQ(busy_.open_events(), 0U);
}

TEST_P(Streams, work_that_is_queued_after_the_free_does_not_hold_the_block) {
  const Address block = must(4 * mib, 1);
  allocator_.record_stream(block, 2);
  busy_.queue(2);
  allocator_.free(block);
  busy_.finish(2);
  busy_.queue(2);
  EXPECT_EQ(must(4 * mib, 1), block);
}

TEST_P(Streams, a_free_that_waits_is_waited_for_before_a_request_fails) {
  const Address block = must(60 * mib, 1);
  allocator_.record_stream(block, 2);
  busy_.queue(2);
  allocator_.free(block);
  allocator_.free(block);
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 1U) << "it is live no more";
  must(60 * mib, 1);
  EXPECT_GT(busy_.waits(), 0U);
  EXPECT_EQ(allocator_.broken_invariant(), "");
}

TEST_P(Streams, what_cannot_be_waited_for_is_not_handed_out) {
  const Address block = must(60 * mib, 1);
  allocator_.record_stream(block, 2);
  busy_.queue(2);
  busy_.forbid(2, true);
  allocator_.free(block);
  EXPECT_EQ(allocator_.allocate({60 * mib, Component::other, 1}), std::nullopt);
  EXPECT_EQ(allocator_.broken_invariant(), "");
  busy_.forbid(2, false);
  must(60 * mib, 1);
  EXPECT_TRUE(busy_.is_finished(2, 1));
}

// A plan is broken up while one of its blocks waits for another stream.
TEST(StreamsAndPlans, a_block_of_a_plan_that_waits_keeps_its_place) {
  SimulatedBackend device;
  BusyBackend busy(device);
  HeadroomAllocator allocator(busy, 64 * mib);
  // Every second of many makes holes that only a repair, and then a plan, can use.
  for (int step = 0; step < 12; ++step) {
    std::vector<Address> blocks;
    for (int i = 0; i < 24; ++i) blocks.push_back(allocator.allocate({2 * mib}).value_or(0));
    for (std::size_t i = 0; i < blocks.size(); i += 2) allocator.free(blocks[i]);
    const Address large = allocator.allocate({(30 + step % 3) * mib}).value_or(0);
    for (std::size_t i = 1; i < blocks.size(); i += 2) allocator.free(blocks[i]);
    allocator.free(large);
  }
  ASSERT_GT(allocator.plan_counts().planned, 0U);
  const Address first = *allocator.allocate({2 * mib});
  allocator.record_stream(first, 7);
  busy.queue(7);
  busy.forbid(7, true);
  allocator.free(first);
  for (int i = 0; i < 40; ++i) {
    const auto other = allocator.allocate({3 * mib});
    ASSERT_EQ(allocator.broken_invariant(), "");
    if (!other) break;
    EXPECT_TRUE(*other + 3 * mib <= first || first + 2 * mib <= *other);
  }
  EXPECT_GT(allocator.plan_counts().broken, 0U);
}

// Random work on random streams against a list of what may still be touched.
class Watched {
 public:
  explicit Watched(bool virtual_memory)
      : allocator_(busy_, 96 * mib, {.virtual_memory = virtual_memory}) {
    busy_.on_loss([this](Address address, std::uint64_t bytes) {
      EXPECT_FALSE(is_touched(address, bytes, any_stream)) << "memory goes that work may touch";
    });
  }

  ~Watched() { busy_.on_loss({}); }

  void step(std::mt19937& random) {
    const auto stream = [&] { return static_cast<StreamId>(random() % streams); };
    switch (random() % 8) {
      case 0:
        busy_.finish(stream());
        break;
      case 1:
      case 2:
      case 3:
        free_one(random);
        break;
      default:
        allocate(random() % 3 == 0 ? random() % (8 * mib) : random() % (300 * kib), stream());
        if (!live_.empty() && random() % 4 == 0) share(live_.back(), stream());
    }
  }

  HeadroomAllocator& allocator() { return allocator_; }

 private:
  static constexpr StreamId streams = 4;

  struct Use {
    Address address = 0;
    std::uint64_t bytes = 0;
    StreamId stream = 0;
    std::uint64_t work = 0;
  };
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
    std::vector<StreamId> streams;
  };

  // By work of other streams than this one, which is not done yet.
  bool is_touched(Address address, std::uint64_t bytes, StreamId stream) {
    std::erase_if(uses_, [&](const Use& use) { return busy_.is_finished(use.stream, use.work); });
    for (const Use& use : uses_) {
      const bool overlaps = use.address < address + bytes && address < use.address + use.bytes;
      if (overlaps && use.stream != stream) return true;
    }
    return false;
  }

  void allocate(std::uint64_t bytes, StreamId stream) {
    const auto address = allocator_.allocate({bytes, Component::other, stream});
    if (!address) return;
    EXPECT_FALSE(is_touched(*address, bytes, stream)) << "handed out too early";
    live_.push_back({*address, bytes, {stream}});
  }

  void share(Block& block, StreamId stream) {
    allocator_.record_stream(block.address, stream);
    block.streams.push_back(stream);
  }

  void free_one(std::mt19937& random) {
    if (live_.empty()) return;
    std::swap(live_[random() % live_.size()], live_.back());
    const Block block = live_.back();
    live_.pop_back();
    for (const StreamId stream : block.streams)
      uses_.push_back({block.address, block.bytes, stream, busy_.queue(stream)});
    allocator_.free(block.address);
  }

  SimulatedBackend device_;
  BusyBackend busy_{device_};
  HeadroomAllocator allocator_;
  std::vector<Block> live_;
  std::vector<Use> uses_;
};

TEST_P(Streams, random_work_never_meets_memory_of_somebody_else) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    Watched watched(GetParam());
    std::mt19937 random(seed);
    for (int i = 0; i < 6000; ++i) {
      watched.step(random);
      if (i % 64 == 0) {
        ASSERT_EQ(watched.allocator().broken_invariant(), "");
      }
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << i;
    }
    EXPECT_GT(watched.allocator().miss_counts().waits, 0U);
  }
}

}  // namespace
}  // namespace headroom::allocator

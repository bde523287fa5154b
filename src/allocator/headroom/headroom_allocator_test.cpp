// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/headroom_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

Request request(std::uint64_t bytes, StreamId stream = 0, Component tag = Component::other) {
  return {bytes, tag, stream};
}

class Allocator : public testing::Test {
 protected:
  Address must(HeadroomAllocator& allocator, std::uint64_t bytes, StreamId stream = 0) {
    const auto address = allocator.allocate(request(bytes, stream));
    EXPECT_TRUE(address.has_value()) << bytes;
    EXPECT_EQ(allocator.broken_invariant(), "");
    return address.value_or(0);
  }

  SimulatedBackend device_;
};

TEST_F(Allocator, sizes_are_rounded_to_granules_and_zero_gets_one) {
  HeadroomAllocator allocator(device_, 8 * mib);
  EXPECT_EQ(allocator.block_bytes(must(allocator, 0)), 512U);
  EXPECT_EQ(allocator.block_bytes(must(allocator, 513)), 1024U);
  EXPECT_EQ(allocator.usage().live_bytes, 1536U);
}

TEST_F(Allocator, pages_are_taken_on_demand_and_the_capacity_is_whole_pages) {
  HeadroomAllocator allocator(device_, 7 * mib);
  EXPECT_EQ(allocator.capacity_bytes(), 6 * mib);
  EXPECT_EQ(allocator.usage().reserved_bytes, 0U);
  must(allocator, 3 * mib);
  EXPECT_EQ(allocator.usage().reserved_bytes, 4 * mib);
  EXPECT_EQ(allocator.allocate(request(3 * mib + 1)), std::nullopt);
  must(allocator, 3 * mib);
  EXPECT_EQ(allocator.usage().reserved_bytes, 6 * mib);
  EXPECT_EQ(device_.table().pages(), 3U);
}

TEST_F(Allocator, absurd_sizes_are_refused) {
  HeadroomAllocator allocator(device_, 6 * mib);
  EXPECT_EQ(allocator.allocate(request(UINT64_MAX)), std::nullopt);
  EXPECT_EQ(allocator.allocate(request(UINT64_MAX - 511)), std::nullopt);
  EXPECT_EQ(allocator.allocate(request(6 * mib + 1)), std::nullopt);
  HeadroomAllocator nothing(device_, 2 * mib - 1);
  EXPECT_EQ(nothing.allocate(request(1)), std::nullopt);
  EXPECT_EQ(nothing.broken_invariant(), "");
}

TEST_F(Allocator, a_freed_block_is_reused_without_asking_the_device) {
  HeadroomAllocator allocator(device_, 64 * mib);
  const Address first = must(allocator, 5 * mib);
  const Address second = must(allocator, 7 * mib);
  allocator.free(first);
  allocator.free(second);
  const std::uint64_t calls = allocator.usage().device_calls;
  EXPECT_EQ(must(allocator, 12 * mib), first);  // The two were merged.
  EXPECT_EQ(allocator.usage().device_calls, calls);
}

// Every second page is free: 8 MiB of free memory, none of it contiguous.
TEST_F(Allocator, scattered_free_pages_serve_a_large_request) {
  HeadroomAllocator allocator(device_, 16 * mib);
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(must(allocator, 2 * mib));
  for (std::size_t i = 0; i < 8; i += 2) allocator.free(blocks[i]);
  const Address large = must(allocator, 8 * mib);
  EXPECT_EQ(allocator.miss_counts().repairs, 1U);
  EXPECT_EQ(allocator.usage().reserved_bytes, 16 * mib);
  EXPECT_EQ(allocator.usage().live_bytes, 16 * mib);
  for (std::size_t i = 1; i < 8; i += 2) EXPECT_NE(allocator.block_bytes(blocks[i]), std::nullopt);
  allocator.free(large);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_F(Allocator, small_blocks_do_not_pin_pages_between_large_ones) {
  HeadroomAllocator allocator(device_, 32 * mib);
  std::vector<Address> large;
  for (int i = 0; i < 10; ++i) {
    large.push_back(must(allocator, 3 * mib));
    must(allocator, 512);
  }
  for (const Address address : large) allocator.free(address);
  must(allocator, 30 * mib);
  EXPECT_EQ(allocator.miss_counts().repairs, 0U);
}

TEST_F(Allocator, a_failed_request_changes_nothing) {
  HeadroomAllocator allocator(device_, 8 * mib);
  const Address block = must(allocator, 5 * mib);
  const Usage before = allocator.usage();
  EXPECT_EQ(allocator.allocate(request(4 * mib)), std::nullopt);
  EXPECT_EQ(allocator.usage().live_bytes, before.live_bytes);
  EXPECT_EQ(allocator.usage().live_peak_bytes, before.live_peak_bytes);
  EXPECT_EQ(allocator.broken_invariant(), "");
  EXPECT_EQ(allocator.block_bytes(block), 5 * mib);
  must(allocator, 3 * mib);
}

TEST_F(Allocator, usage_is_kept_by_component_and_follows_retags) {
  HeadroomAllocator allocator(device_, 64 * mib);
  const Address weights = *allocator.allocate(request(4 * mib, 0, Component::weights));
  const Address born_in_backward = *allocator.allocate(request(mib, 0, Component::activations));
  allocator.retag(born_in_backward, Component::gradients);
  Usage usage = allocator.usage();
  EXPECT_EQ(usage.live[Component::weights], 4 * mib);
  EXPECT_EQ(usage.live[Component::activations], 0U);
  EXPECT_EQ(usage.live[Component::gradients], mib);
  EXPECT_EQ(usage.live_at_peak[Component::activations], mib);
  allocator.free(born_in_backward);
  allocator.free(weights);
  usage = allocator.usage();
  EXPECT_EQ(usage.live, ByComponent{});
  EXPECT_EQ(usage.live_peak_bytes, 5 * mib);
}

TEST_F(Allocator, frees_of_what_is_not_live_are_counted_and_ignored) {
  HeadroomAllocator allocator(device_, 8 * mib);
  const Address block = must(allocator, mib);
  allocator.free(block);
  allocator.free(block);
  allocator.free(12345);
  allocator.retag(0, Component::weights);
  EXPECT_EQ(allocator.miss_counts().foreign_frees, 3U);
  EXPECT_EQ(allocator.usage().live_bytes, 0U);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_F(Allocator, a_block_goes_to_another_stream_only_after_a_synchronise) {
  HeadroomAllocator allocator(device_, 64 * mib);
  const Address block = must(allocator, 4 * mib, 1);
  allocator.free(block);
  EXPECT_NE(must(allocator, 4 * mib, 2), block);
  allocator.synchronize(1);
  EXPECT_EQ(must(allocator, 4 * mib, 2), block);
  EXPECT_EQ(allocator.miss_counts().waits, 0U);
}

TEST_F(Allocator, the_same_stream_reuses_at_once) {
  HeadroomAllocator allocator(device_, 64 * mib);
  const Address block = must(allocator, 4 * mib, 7);
  allocator.free(block);
  EXPECT_EQ(must(allocator, 4 * mib, 7), block);
}

TEST_F(Allocator, waits_for_other_streams_before_it_fails) {
  FaultyBackend device(device_);
  HeadroomAllocator allocator(device, 8 * mib);
  allocator.free(must(allocator, 8 * mib, 1));
  device.fail(BackendCall::wait, 1, 1000);
  EXPECT_EQ(allocator.allocate(request(6 * mib, 2)), std::nullopt);  // The wait failed.
  EXPECT_EQ(allocator.broken_invariant(), "");
  device.fail(BackendCall::wait, 0);
  must(allocator, 6 * mib, 2);
  EXPECT_EQ(allocator.miss_counts().waits, 1U);
}

TEST_F(Allocator, any_number_of_streams_is_served) {
  HeadroomAllocator allocator(device_, 64 * mib);
  for (StreamId stream = 0; stream < 5000; ++stream) {
    const auto address = allocator.allocate(request(100 * kib, stream));
    ASSERT_TRUE(address.has_value());
    allocator.free(*address);
  }
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_F(Allocator, pages_go_back_to_the_backend_at_the_end) {
  {
    HeadroomAllocator allocator(device_, 64 * mib);
    must(allocator, 5 * mib);
    allocator.free(must(allocator, 5 * mib));
    must(allocator, 100);
    EXPECT_GT(device_.table().pages(), 0U);
  }
  EXPECT_EQ(device_.table().pages(), 0U);
  EXPECT_EQ(device_.table().mapped_pages(), 0U);
}

TEST_F(Allocator, addresses_do_not_run_out) {
  HeadroomAllocator allocator(device_, 64 * mib, {.address_range_bytes = 64 * mib});
  std::mt19937 random(7);
  std::vector<Address> live;
  for (int i = 0; i < 20000; ++i) {
    const auto address = allocator.allocate(request((1 + random() % 12) * mib + random() % 4096));
    if (address) live.push_back(*address);
    while (!address && !live.empty() && random() % 3 != 0) {
      const std::size_t victim = random() % live.size();
      allocator.free(live[victim]);
      live[victim] = live.back();
      live.pop_back();
    }
  }
  EXPECT_GT(allocator.miss_counts().repairs, 100U);
  std::uint64_t reserved = 0;
  for (const PageTable::Range& range : device_.table().ranges()) reserved += range.bytes;
  EXPECT_LE(reserved, 1024 * mib);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_F(Allocator, blocks_may_be_freed_by_another_thread) {
  HeadroomAllocator allocator(device_, 256 * mib);
  const auto work = [&allocator](std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Address> mine;
    for (int i = 0; i < 2000; ++i) {
      const auto address = allocator.allocate(request(512 + random() % (256 * kib), seed));
      if (address) mine.push_back(*address);
    }
    return mine;
  };
  std::vector<Address> from_first;
  std::vector<Address> from_second;
  std::thread first([&] { from_first = work(1); });
  std::thread second([&] { from_second = work(2); });
  first.join();
  second.join();
  std::thread third([&] {
    for (const Address address : from_second) allocator.free(address);
  });
  for (const Address address : from_first) allocator.free(address);
  third.join();
  EXPECT_EQ(allocator.usage_snapshot().live_bytes, 0U);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

// Random operations against a plain map of what must be live.
class Model {
 public:
  explicit Model(HeadroomAllocator& allocator) : allocator_(allocator) {}

  bool allocate(const Request& asked) {
    const auto address = allocator_.allocate(asked);
    if (!address) return false;
    const std::uint64_t bytes = (std::max<std::uint64_t>(asked.bytes, 1) + 511) / 512 * 512;
    const auto above = live_.lower_bound(*address);
    EXPECT_TRUE(above == live_.end() || *address + bytes <= above->first) << "overlap";
    if (above != live_.begin()) {
      const auto& below = *std::prev(above);
      EXPECT_LE(below.first + below.second, *address) << "overlap";
    }
    live_[*address] = bytes;
    order_.push_back(*address);
    bytes_ += bytes;
    return true;
  }

  void free_one(std::uint64_t random) {
    if (order_.empty()) return;
    std::swap(order_[random % order_.size()], order_.back());
    const auto victim = live_.find(order_.back());
    order_.pop_back();
    allocator_.free(victim->first);
    bytes_ -= victim->second;
    live_.erase(victim);
  }

  void check() const {
    EXPECT_EQ(allocator_.broken_invariant(), "");
    EXPECT_EQ(allocator_.usage().live_bytes, bytes_);
    EXPECT_LE(allocator_.usage().reserved_peak_bytes, allocator_.capacity_bytes());
  }

 private:
  HeadroomAllocator& allocator_;
  std::map<Address, std::uint64_t> live_;
  std::vector<Address> order_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t random_size(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return random() % 4096;
    case 1:
      return random() % mib;
    default:
      return random() % (8 * mib);
  }
}

class AllocatorModel : public testing::TestWithParam<std::uint32_t> {};

TEST_P(AllocatorModel, random_operations_keep_every_invariant) {
  std::mt19937 random(GetParam());
  SimulatedBackend device;
  FaultyBackend faulty(device);
  HeadroomAllocator allocator(faulty, 96 * mib);
  Model model(allocator);
  const StreamId streams = GetParam() % 3 + 1;
  const auto any = [&] { return static_cast<StreamId>(random() % streams); };
  std::uint64_t refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto next = [&](BackendCall call) { return faulty.calls(call) + 1 + random() % 5; };
    if (random() % 40 == 0) faulty.fail(BackendCall::create, next(BackendCall::create));
    if (random() % 40 == 0) faulty.fail(BackendCall::map, next(BackendCall::map));
    if (random() % 40 == 0) faulty.fail(BackendCall::unmap, next(BackendCall::unmap));
    if (random() % 40 == 0) faulty.fail(BackendCall::allow_access, next(BackendCall::allow_access));
    if (random() % 50 == 0) allocator.synchronize(any());
    const bool phase_of_frees = (i / 500) % 2 == 1;
    if (random() % 10 < (phase_of_frees ? 6U : 4U)) {
      model.free_one(random());
    } else if (!model.allocate(request(random_size(random), any()))) {
      ++refused;
    }
    if (i % 16 == 0) model.check();
    if (HasFailure()) FAIL() << "at operation " << i;
  }
  model.check();
  EXPECT_GT(refused, 0U);
  EXPECT_GT(allocator.miss_counts().repairs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AllocatorModel, testing::Range(1U, 13U));

class AllocatorFaults : public testing::TestWithParam<BackendCall> {};

// The N-th call fails, for every N that a short program reaches.
TEST_P(AllocatorFaults, nothing_is_lost_whichever_call_fails) {
  for (std::uint64_t n = 1; n < 60; ++n) {
    SimulatedBackend device;
    {
      FaultyBackend faulty(device);
      faulty.fail(GetParam(), n);
      HeadroomAllocator allocator(faulty, 24 * mib);
      Model model(allocator);
      for (int i = 0; i < 12; ++i) model.allocate(request(2 * mib - (i % 3) * 512));
      for (std::uint64_t i = 0; i < 6; ++i) model.free_one(i * 7);
      for (int i = 0; i < 3; ++i) model.allocate(request(4 * mib));
      model.check();
      ASSERT_FALSE(HasFailure()) << "with call " << n << " failing";
    }
    if (GetParam() == BackendCall::create) {
      EXPECT_EQ(device.table().mapped_pages(), 0U) << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, AllocatorFaults,
                         testing::Values(BackendCall::reserve, BackendCall::create,
                                         BackendCall::map, BackendCall::allow_access,
                                         BackendCall::unmap));

TEST_F(Allocator, the_report_says_what_would_have_fitted) {
  HeadroomAllocator allocator(device_, 16 * mib);
  static_cast<void>(allocator.allocate(request(6 * mib, 0, Component::weights)));
  const Address gap = must(allocator, 3 * mib);
  static_cast<void>(allocator.allocate(request(2 * mib, 0, Component::optimizer)));
  allocator.free(gap);
  const Request asked = request(9 * mib, 0, Component::logits);
  ASSERT_EQ(allocator.allocate(asked), std::nullopt);
  const OutOfMemory problem = allocator.explain(asked);
  EXPECT_EQ(problem.usage.live_bytes, 8 * mib);
  EXPECT_EQ(problem.largest_free_bytes, 3 * mib);
  ASSERT_GE(problem.fits_bytes, 6 * mib);
  must(allocator, problem.fits_bytes);
}

}  // namespace
}  // namespace headroom::allocator

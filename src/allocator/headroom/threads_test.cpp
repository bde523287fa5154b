// SPDX-License-Identifier: Apache-2.0
// Several threads on one allocator. What they do here is checked for its result; that no two of
// them touch the same memory at once is for the sanitizers (tests/stress).
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/busy_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

class Threads : public testing::TestWithParam<bool> {
 protected:
  // Runs work(thread) on so many threads and waits for them.
  template <class Work>
  static void on_threads(StreamId count, Work&& work) {
    std::vector<std::thread> threads;
    for (StreamId i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }

  void expect_nothing_left() {
    EXPECT_EQ(allocator_.usage_snapshot().live_bytes, 0U);
    EXPECT_EQ(allocator_.miss_counts().foreign_frees, 0U);
    EXPECT_EQ(allocator_.broken_invariant(), "");
  }

  SimulatedBackend device_;
  HeadroomAllocator allocator_{device_, 256 * mib, {.virtual_memory = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(VirtualMemory, Threads, testing::Bool());

TEST_P(Threads, work_on_streams_of_their_own_or_on_one) {
  for (const StreamId threads : {2U, 4U}) {
    for (const StreamId streams : {1U, 4U}) {
      on_threads(threads, [&](StreamId thread) {
        std::mt19937 random(thread);
        std::vector<Address> mine;
        for (int i = 0; i < 4000; ++i) {
          const auto address =
              allocator_.allocate({random() % (400 * kib), Component::other, thread % streams});
          if (address) mine.push_back(*address);
          if (mine.size() < 100 && address) continue;
          std::swap(mine[random() % mine.size()], mine.back());
          allocator_.free(mine.back());
          mine.pop_back();
        }
        for (const Address address : mine) allocator_.free(address);
      });
      expect_nothing_left();
    }
  }
}

// One allocates what another frees: the memory that this takes does not grow.
TEST_P(Threads, a_producer_and_a_consumer_need_bounded_memory) {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Address> queue;
  constexpr int blocks = 20000;
  std::thread consumer([&] {
    for (int i = 0; i < blocks; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const Address address = queue.front();
      queue.pop_front();
      lock.unlock();
      changed.notify_all();
      allocator_.free(address);
    }
  });
  std::mt19937 random(1);
  for (int i = 0; i < blocks; ++i) {
    const auto address = allocator_.allocate({mib + random() % mib, Component::other, 1});
    ASSERT_TRUE(address.has_value());
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return queue.size() < 8; });
    queue.push_back(*address);
    lock.unlock();
    changed.notify_all();
  }
  consumer.join();
  expect_nothing_left();
  EXPECT_LE(allocator_.usage_snapshot().reserved_peak_bytes, 128 * mib);
}

TEST_P(Threads, that_end_leave_their_memory_to_others) {
  std::vector<Address> left;
  for (StreamId stream = 1; stream <= 20; ++stream) {
    std::thread thread([&] {
      for (int i = 0; i < 10; ++i)
        allocator_.free(allocator_.allocate({20 * mib, Component::other, stream}).value_or(0));
      left.push_back(allocator_.allocate({mib, Component::other, stream}).value_or(0));
    });
    thread.join();
  }
  EXPECT_TRUE(allocator_.allocate({200 * mib}).has_value());
  for (const Address address : left) allocator_.free(address);
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 0U);
  EXPECT_EQ(allocator_.usage_snapshot().live_bytes, 200 * mib);
}

// Streams get their shards when they are first seen, while other threads look through all of them.
TEST_P(Threads, may_meet_streams_for_the_first_time_at_once) {
  for (int round = 0; round < 30; ++round) {
    HeadroomAllocator allocator(device_, 256 * mib, {.virtual_memory = GetParam()});
    on_threads(4, [&](StreamId thread) {
      for (StreamId i = 0; i < 16; ++i) {
        const StreamId stream = (i * 5 + thread) % 16;
        const auto address = allocator.allocate({mib, Component::other, stream});
        ASSERT_TRUE(address.has_value());
        EXPECT_EQ(allocator.block_bytes(*address), mib);
        EXPECT_GE(allocator.usage_snapshot().live_bytes, mib);
        allocator.free(*address);
      }
    });
    EXPECT_EQ(allocator.usage_snapshot().live_bytes, 0U);
    EXPECT_EQ(allocator.miss_counts().foreign_frees, 0U);
    EXPECT_EQ(allocator.broken_invariant(), "");
  }
}

// There is enough for all, wherever it lies. Plain allocations may be an eighth larger than the
// blocks in them; pages fit exactly. The device is slow to take memory away, so that others come in
// between.
TEST_P(Threads, never_fail_while_there_is_enough_for_all) {
  BusyBackend slow(device_);
  slow.on_loss([](Address, std::uint64_t) { std::this_thread::yield(); });
  HeadroomAllocator allocator(slow, 256 * mib, {.virtual_memory = GetParam()});
  const std::uint64_t share = GetParam() ? 64 * mib : 52 * mib;
  std::atomic<int> refused = 0;
  on_threads(4, [&](StreamId thread) {
    std::mt19937 random(thread);
    for (int i = 0; i < 300; ++i) {
      std::vector<Address> mine;
      const std::uint64_t bytes = (2 + 2 * (random() % 10)) * mib;
      for (std::uint64_t left = share; left >= bytes; left -= bytes) {
        const auto address = allocator.allocate({bytes, Component::other, thread});
        refused += address ? 0 : 1;
        if (address) mine.push_back(*address);
      }
      for (const Address address : mine) allocator.free(address);
    }
  });
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(allocator.usage_snapshot().live_bytes, 0U);
  EXPECT_EQ(allocator.broken_invariant(), "");
}

TEST_P(Threads, foreign_frees_are_counted_whoever_makes_them) {
  const Address block = allocator_.allocate({mib, Component::other, 3}).value_or(0);
  on_threads(4, [&](StreamId thread) {
    for (int i = 0; i < 1000; ++i) {
      allocator_.free(12345 + thread);
      allocator_.free(~std::uint64_t{0} - thread);
      allocator_.free(block + 512);
      static_cast<void>(allocator_.allocate({512, Component::other, thread}));
    }
  });
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 12000U);
  allocator_.free(block);
  allocator_.free(block);
  EXPECT_EQ(allocator_.miss_counts().foreign_frees, 12001U);
  EXPECT_EQ(allocator_.broken_invariant(), "");
}

// The peak is known to a step for each shard.
TEST_P(Threads, the_peak_of_all_is_not_the_sum_of_their_peaks) {
  for (StreamId stream = 0; stream < 4; ++stream) {
    const Address block =
        allocator_.allocate({40 * mib, Component::activations, stream}).value_or(0);
    const Address small = allocator_.allocate({8 * mib, Component::weights, stream}).value_or(0);
    allocator_.free(block);
    EXPECT_NE(small, 0U);
  }
  const Usage usage = allocator_.usage_snapshot();
  EXPECT_GE(usage.live_peak_bytes, 72 * mib - 4 * LivePeak::step_bytes);
  EXPECT_LE(usage.live_peak_bytes, 72 * mib);
  EXPECT_EQ(usage.live_at_peak[Component::weights] + usage.live_at_peak[Component::activations],
            usage.live_peak_bytes);
}

}  // namespace
}  // namespace headroom::allocator

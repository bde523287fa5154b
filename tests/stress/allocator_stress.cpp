// SPDX-License-Identifier: Apache-2.0
// Random operations of several threads on several streams, on real memory that is written and
// checked, so that a byte that is lost or a block that overlaps another shows:
//
//   allocator_stress OPERATIONS THREADS STREAMS SEED vmm|no-vmm
//
// Threads work in turns at random and in steps that repeat, as jobs do, so that memory is remapped
// and plans come and go; a part of the blocks is checked and freed by another thread. Exit code 1
// and a message if anything was wrong.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"
#include "stress/filled_block.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t capacity = 192 * mib;
constexpr HeadroomAllocator::PoolId first_pool = 100;

// Runs each piece of work on a thread of its own.
class Workers {
 public:
  ~Workers() {
    for (std::thread& thread : threads_) thread.join();
  }
  void run(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    threads_.emplace_back(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

// Blocks on their way to a thread that will free them.
class Mailbox {
 public:
  void put(const FilledBlock& block) {
    const std::scoped_lock lock(mutex_);
    blocks_.push_back(block);
  }
  std::vector<FilledBlock> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(blocks_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<FilledBlock> blocks_;
};

struct Job {
  HeadroomAllocator& allocator;
  std::vector<Mailbox>& mailboxes;
  StreamId streams = 1;
  std::atomic<std::uint64_t> damaged = 0;
  std::atomic<std::uint64_t> lost_pools = 0;
  std::atomic<std::uint64_t> refused = 0;
};

class Worker {
 public:
  Worker(Job& job, std::uint32_t number, std::uint32_t seed)
      : job_(job), number_(number), random_(seed * 7919 + number) {}

  void run(std::uint64_t operations) {
    while (done_ < operations) {
      for (int i = 0; i < 2000 && done_ < operations; ++i) random_operation();
      if (random_.below(8) == 0) use_a_pool();
      free_all();
      const std::uint64_t shape = random_.next();
      for (int i = 0; i < 12 && done_ < operations; ++i) step(shape);
    }
    free_all();
  }

  void finish() {
    free_all();
    take_mail();
  }

 private:
  StreamId any_stream_of_job() { return static_cast<StreamId>(random_.below(job_.streams)); }
  StreamId own_stream() const { return number_ % job_.streams; }

  static std::uint64_t random_size(StressRandom& random) {
    const std::uint64_t kind = random.below(100);
    if (kind < 60) return random.below(4 * kib);
    if (kind < 88) return random.below(256 * kib);
    return random.below(kind < 98 ? 2 * mib : 10 * mib);
  }

  bool allocate(std::uint64_t bytes, StreamId stream) {
    ++done_;
    const auto address = job_.allocator.allocate({bytes, Component::other, stream});
    if (!address) {
      ++job_.refused;
      return false;
    }
    live_.push_back({*address, bytes, random_.next()});
    live_.back().fill();
    return true;
  }

  // By this thread or, where another may do it, sometimes by that one.
  void free_one(std::size_t index, bool here = false) {
    ++done_;
    std::swap(live_[index], live_.back());
    const FilledBlock block = live_.back();
    live_.pop_back();
    if (!here && random_.below(8) == 0) {
      job_.mailboxes[random_.below(job_.mailboxes.size())].put(block);
      return;
    }
    check_and_free(block);
  }

  void check_and_free(const FilledBlock& block) {
    if (!block.is_intact()) ++job_.damaged;
    job_.allocator.free(block.address);
  }

  void take_mail() {
    for (const FilledBlock& block : job_.mailboxes[number_].take()) check_and_free(block);
  }

  void free_all() {
    while (!live_.empty()) free_one(live_.size() - 1);
    take_mail();
  }

  void random_operation() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 54) {
      const StreamId stream = random_.below(8) == 0 ? any_stream_of_job() : own_stream();
      if (!allocate(random_size(random_), stream) && !live_.empty())
        free_one(random_.below(live_.size()));
    } else if (kind < 95) {
      if (!live_.empty()) free_one(random_.below(live_.size()));
    } else if (kind < 97) {
      take_mail();
    } else if (kind < 98) {
      if (!live_.empty()) job_.allocator.record_stream(live_.back().address, any_stream_of_job());
    } else if (kind < 99) {
      if (!live_.empty()) job_.allocator.retag(live_.back().address, Component::weights);
    } else {
      job_.allocator.synchronize(any_stream_of_job());
    }
  }

  // The same blocks each time it is called with the same shape.
  void step(std::uint64_t shape) {
    StressRandom sizes(shape);
    const std::size_t before = live_.size();
    for (int i = 0; i < 60; ++i) {
      allocate(i % 4 == 0 ? sizes.below(6 * mib) : random_size(sizes), own_stream());
      if (i % 3 == 2 && live_.size() > before)
        free_one(before + sizes.below(live_.size() - before), true);
    }
    while (live_.size() > before) free_one(live_.size() - 1, true);
  }

  void use_a_pool() {
    const HeadroomAllocator::PoolId pool = first_pool + number_;
    if (!job_.allocator.begin_pool(pool, own_stream())) return;
    for (int i = 0; i < 20; ++i) {
      if (allocate(random_.below(mib), own_stream()) && i % 2 == 0) free_one(live_.size() - 1);
    }
    if (!job_.allocator.end_pool(pool)) ++job_.lost_pools;
    if (random_.below(2) == 0 && !job_.allocator.release_pool(pool)) ++job_.lost_pools;
  }

  Job& job_;
  std::uint32_t number_;
  StressRandom random_;
  std::vector<FilledBlock> live_;
  std::uint64_t done_ = 0;
};

struct Arguments {
  std::uint64_t operations = 0;
  std::uint32_t threads = 0;
  StreamId streams = 0;
  std::uint32_t seed = 0;
  bool virtual_memory = true;
};

std::string verdict(const Job& job) {
  if (job.damaged > 0) return fmt::format("{} blocks lost bytes", job.damaged.load());
  if (job.lost_pools > 0) return fmt::format("{} pools were lost", job.lost_pools.load());
  const Usage usage = job.allocator.usage_snapshot();
  if (usage.live_bytes != 0) return fmt::format("{} bytes are live at the end", usage.live_bytes);
  if (usage.reserved_peak_bytes > capacity) return "more was taken than the capacity";
  const std::uint64_t foreign = job.allocator.miss_counts().foreign_frees;
  if (foreign != 0) return fmt::format("{} frees found no block", foreign);
  return job.allocator.broken_invariant();
}

int run(const Arguments& asked) {
  auto backend = HostBackend::create();
  if (!backend) {
    fmt::print(stderr, "{}\n", backend.error().message);
    return 1;
  }
  Workers planners;
  HeadroomAllocator allocator(
      **backend, capacity,
      {.virtual_memory = asked.virtual_memory,
       .executor = [&](std::function<void()> work) { planners.run(std::move(work)); }});
  std::vector<Mailbox> mailboxes(asked.threads);
  Job job{allocator, mailboxes, asked.streams};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < asked.threads; ++i)
    workers.push_back(std::make_unique<Worker>(job, i, asked.seed));
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (const auto& worker : workers)
    threads.emplace_back([&] { worker->run(asked.operations / asked.threads); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& worker : workers) worker->finish();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const MissCounts misses = allocator.miss_counts();
  const PlanCounts plans = allocator.plan_counts();
  fmt::print(
      "{} operations in {:.1f} s: {} refused; {} growths, {} repairs of {} pages, {} flushes, {} "
      "waits; {} plans, {} blocks planned, {} plans broken up\n",
      asked.operations, took.count(), job.refused.load(), misses.growths, misses.repairs,
      misses.moved_pages, misses.flushes, misses.waits, plans.plans, plans.planned, plans.broken);
  const std::string wrong = verdict(job);
  if (!wrong.empty()) fmt::print(stderr, "allocator_stress: {}\n", wrong);
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace headroom::allocator

int main(int argc, char** argv) {
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0; };
  const std::string_view mode = argc > 5 ? argv[5] : "";
  const headroom::allocator::Arguments asked{number(1), static_cast<std::uint32_t>(number(2)),
                                             static_cast<std::uint32_t>(number(3)),
                                             static_cast<std::uint32_t>(number(4)), mode == "vmm"};
  if (asked.operations == 0 || asked.threads == 0 || asked.streams == 0 ||
      (mode != "vmm" && mode != "no-vmm")) {
    fmt::print(stderr, "usage: allocator_stress OPERATIONS THREADS STREAMS SEED vmm|no-vmm\n");
    return 2;
  }
  return headroom::allocator::run(asked);
}

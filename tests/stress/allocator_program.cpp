// SPDX-License-Identifier: Apache-2.0
#include "stress/allocator_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/testing/faulty_backend.h"
#include "stress/late_layouts.h"
#include "stress/queued_streams.h"

namespace headroom::allocator::testing {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr StreamId streams_per_thread = 3;
constexpr std::size_t most_kept = 6;  // Outside iterations, so that those are what counts.

struct Block {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pattern = 0;
  StreamId stream = 0;
  bool is_shared = false;
};

// What all threads of one program share.
struct World {
  explicit World(Backend& host) : streams(host), faulty(streams) {}

  void complain(const std::string& what) {
    const std::scoped_lock lock(mutex);
    if (broken.empty()) broken = what;
    is_broken = true;
  }

  QueuedStreams streams;
  FaultyBackend faulty;
  std::unique_ptr<HeadroomAllocator> allocator;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<bool> is_broken = false;
  std::mutex mutex;
  std::string broken;
  std::mutex foreign_work;        // Held by who queues work on another thread's stream.
  std::vector<Block> given_away;  // For other threads to free.
};

// Words at both ends, in the middle and where pages begin.
template <class Visit>
void for_each_word(const Block& block, Visit&& visit) {
  const Address last = block.address + block.bytes - 8;
  visit(block.address, block.pattern);
  visit(last, ~block.pattern);
  const Address middle = block.address + block.bytes / 16 * 8;
  if (middle % page_bytes != 0) visit(middle, block.pattern * 3);
  for (Address at = (block.address / page_bytes + 1) * page_bytes; at < last; at += page_bytes)
    visit(at, block.pattern + at);
}

std::uint64_t& word_at(Address address) {
  return *reinterpret_cast<std::uint64_t*>(address);  // NOLINT: memory of the host backend.
}

// One thread's part.
class Worker {
 public:
  Worker(World& world, const ProgramOptions& options, unsigned number)
      : world_(world),
        is_alone_(options.threads == 1),
        number_(number),
        share_bytes_(world.allocator->capacity_bytes() / options.threads),
        random_(options.seed * 1000 + number) {}

  void run(std::uint64_t operations) {
    left_ = operations;
    while (left_ > 0 && !world_.is_broken) {
      if (template_.empty() || random_() % 20 == 0) new_template();
      if (random_() % 2 == 0)
        wander();
      else
        iterate();
    }
  }

  void check_all() {
    for (const Block& block : live_) queue_check(block, "live", false);
  }

 private:
  struct Planned {
    std::uint64_t bytes = 0;
    std::uint32_t dies = 0;
    StreamId stream = 0;
  };

  StreamId a_stream() { return number_ * streams_per_thread + random_() % streams_per_thread; }
  std::uint64_t a_size() {
    switch (random_() % 4) {
      case 0:
        return random_() % 4096;
      case 1:
        return random_() % mib;
      case 2:
        return random_() % (3 * mib);
      default:
        return random_() % 8 * mib + random_() % 4096;
    }
  }
  bool spend() {
    if (left_ == 0) return false;
    --left_;
    return !world_.is_broken;
  }

  // Forward, where everything stays, and backward, which has its own short-lived blocks: at the
  // worst moment about half of the memory that the thread may count on.
  void new_template() {
    template_.clear();
    const std::uint32_t half = 10 + random_() % 40;
    const auto largest = static_cast<std::uint32_t>(share_bytes_ / half);
    const bool one_stream = random_() % 3 != 0;
    const StreamId main = number_ * streams_per_thread;
    for (std::uint32_t i = 0; i < half; ++i)
      template_.push_back({random_() % largest, 2 * half - i, one_stream ? main : a_stream()});
    for (std::uint32_t i = 0; i < half; ++i)
      template_.push_back({random_() % largest, half + i + 1 + random_() % 2, main});
    deviates_ = random_() % 3 == 0 ? 0 : 100 + random_() % 900;
  }

  // The template, several times, in forward and backward order and with deviations.
  void iterate() {
    const std::uint32_t rounds = 6 + random_() % 24;
    for (std::uint32_t round = 0; round < rounds && left_ > 0; ++round) {
      std::vector<std::pair<std::uint32_t, Block>> mine;
      for (std::uint32_t now = 0; now <= template_.size(); ++now) {
        for (std::size_t i = 0; i < mine.size();) {
          if (mine[i].first > now) {
            ++i;
            continue;
          }
          if (deviate())
            live_.push_back(mine[i].second);  // Late, by much.
          else
            free(mine[i].second);
          mine[i] = mine.back();
          mine.pop_back();
        }
        if (now == template_.size() || !spend()) break;
        Planned asked = template_[now];
        if (deviate()) continue;
        if (deviate()) asked.bytes = a_size();
        if (deviate()) asked.stream = a_stream();
        if (deviate()) keep(allocate(a_size(), a_stream()));
        if (const auto block = allocate(asked.bytes, asked.stream))
          mine.emplace_back(asked.dies, *block);
        else
          make_room();
      }
      for (const auto& [dies, block] : mine) free(block);
      while (live_.size() > most_kept) free_any();
    }
  }
  bool deviate() { return deviates_ != 0 && random_() % deviates_ == 0; }

  void wander() {
    for (std::uint32_t i = random_() % 200; i > 0 && spend(); --i) {
      switch (random_() % 16) {
        case 0:
          share();
          break;
        case 1:
          if (!live_.empty()) world_.allocator->retag(any().address, Component::gradients);
          break;
        case 2:
          synchronize();
          break;
        case 3:
          world_.streams.advance(a_stream(), random_() % 20);
          break;
        case 4:
          trade();
          break;
        case 5:
          if (!live_.empty()) queue_check(any(), "in use", false);
          break;
        default:
          if (live_.size() > most_kept || (random_() % 5 < 2 && !live_.empty()))
            free_any();
          else
            keep(allocate(a_size(), a_stream()));
      }
    }
  }

  Block& any() { return live_[random_() % live_.size()]; }
  void keep(const std::optional<Block>& block) {
    if (block)
      live_.push_back(*block);
    else
      make_room();
  }
  void make_room() {
    for (std::size_t i = live_.size() / 2; i > 0; --i) free_any();
  }
  void free_any() {
    if (live_.empty()) return;
    std::swap(any(), live_.back());
    free(live_.back());
    live_.pop_back();
  }

  std::optional<Block> allocate(std::uint64_t bytes, StreamId stream) {
    const auto address = world_.allocator->allocate({bytes, Component::activations, stream});
    if (!address) {
      ++world_.refused;
      return std::nullopt;
    }
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + 511) / 512 * 512;
    const Block block{*address, rounded, (std::uint64_t{random_()} << 32U) | random_(), stream,
                      false};
    world_.streams.queue(stream, [block] {
      for_each_word(block, [](Address at, std::uint64_t word) { word_at(at) = word; });
    });
    return block;
  }

  // A stream's work reads the block and, at its end, leaves something else in it.
  void queue_check(const Block& block, const char* when, bool scribble) {
    queue_check(block, block.stream, when, scribble);
  }
  void queue_check(const Block& block, StreamId stream, const char* when, bool scribble) {
    World* world = &world_;
    world_.streams.queue(stream, [=] {
      for_each_word(block, [&](Address at, std::uint64_t word) {
        if (word_at(at) != word)
          world->complain(fmt::format("{:#x} in the block of {} bytes at {:#x} was lost ({})", at,
                                      block.bytes, block.address, when));
        if (scribble) word_at(at) = 0xDDDDDDDDDDDDDDDD;
      });
    });
  }

  void free(const Block& block) {
    queue_check(block, "freed", !block.is_shared);
    world_.allocator->free(block.address);
    // With other threads the address may be somebody else's by now.
    if (is_alone_ && random_() % 64 == 0) world_.allocator->free(block.address);
    if (random_() % 8 == 0) world_.streams.advance(block.stream, random_() % 10);
  }

  void share() {
    if (live_.empty()) return;
    Block& block = any();
    const StreamId other = a_stream();
    // The other stream reads what the first has written: it waits for it, as programs do.
    world_.streams.advance(block.stream, UINT64_MAX);
    world_.allocator->record_stream(block.address, other);
    queue_check(block, other, "shared", false);
    block.is_shared = true;
  }

  void synchronize() {
    const StreamId stream = a_stream();
    // Nobody queues more on it between the two.
    const std::scoped_lock lock(world_.foreign_work);
    world_.streams.advance(stream, UINT64_MAX);
    world_.allocator->synchronize(stream);
  }

  // Blocks change hands between threads.
  void trade() {
    std::vector<Block> taken;
    {
      const std::scoped_lock lock(world_.mutex);
      if (!live_.empty() && random_() % 2 == 0) {
        world_.given_away.push_back(live_.back());
        live_.pop_back();
      } else {
        taken.swap(world_.given_away);
      }
    }
    const std::scoped_lock lock(world_.foreign_work);
    for (const Block& block : taken) free(block);
  }

  World& world_;
  bool is_alone_;
  unsigned number_;
  std::uint64_t share_bytes_;
  Random random_;
  std::uint64_t left_ = 0;
  std::uint32_t deviates_ = 0;  // Once in so many; 0: never.
  std::vector<Planned> template_;
  std::vector<Block> live_;
};

// The calls that fail while the next part runs.
void plan_faults(World& world, Random& random) {
  constexpr BackendCall calls[] = {BackendCall::create,   BackendCall::map,     BackendCall::unmap,
                                   BackendCall::allocate, BackendCall::release, BackendCall::wait,
                                   BackendCall::record,   BackendCall::passed};
  for (const BackendCall call : calls) {
    if (random() % 3 != 0) continue;
    world.faulty.fail(call, world.faulty.calls(call) + 1 + random() % 50, 1 + random() % 4);
  }
}

constexpr std::uint64_t operations_per_part = 1000;  // Of one thread, between two checks.
constexpr unsigned parts_per_job = 6;

// One allocator's life.
void run_job(const ProgramOptions& options, Backend& host, ProgramResult& result) {
  LateLayouts late;
  World world(host);
  Random random(options.seed);
  HeadroomAllocator::Options settings;
  settings.virtual_memory = options.virtual_memory;
  settings.planning = options.planning;
  if (random() % 2 == 0) settings.executor = late.executor();
  const std::uint64_t capacity = options.capacity_bytes * (3 + random() % 4) / 4;
  world.allocator = std::make_unique<HeadroomAllocator>(world.faulty, capacity, settings);
  std::vector<Worker> workers;
  for (unsigned i = 0; i < options.threads; ++i) workers.emplace_back(world, options, i);
  for (unsigned part = 0; part < parts_per_job && !world.is_broken; ++part) {
    if (options.faults) plan_faults(world, random);
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers.size(); ++i)
      threads.emplace_back([&, i] { workers[i].run(operations_per_part); });
    workers[0].run(operations_per_part);
    for (std::thread& thread : threads) thread.join();
    late.join();
    result.operations += operations_per_part * options.threads;
    if (const std::string broken = world.allocator->broken_invariant(); !broken.empty())
      world.complain(broken);
    if (part + 1 < parts_per_job && random() % 4 != 0) continue;
    for (Worker& worker : workers) worker.check_all();
    world.streams.finish_all();
  }
  world.streams.finish_all();  // Before the memory goes.
  if (!world.broken.empty())
    result.broken =
        fmt::format("{} (seed {}, {} threads, {} virtual memory)", world.broken, options.seed,
                    options.threads, options.virtual_memory ? "with" : "without");
  const MissCounts misses = world.allocator->miss_counts();
  const PlanCounts plans = world.allocator->plan_counts();
  result.refused += world.refused;
  result.repairs += misses.repairs;
  result.flushes += misses.flushes;
  result.waits += misses.waits;
  result.plans += plans.plans;
  result.planned += plans.planned;
  result.plans_broken += plans.broken;
}

}  // namespace

ProgramResult run_program(const ProgramOptions& options) {
  ProgramResult result;
  ProgramOptions job = options;
  while (result.operations < options.operations && result.broken.empty()) {
    auto host = HostBackend::create(options.virtual_memory ? HostBackend::VirtualMemory::on
                                                           : HostBackend::VirtualMemory::off);
    if (!host) {
      result.broken = host.error().message;
      return result;
    }
    run_job(job, **host, result);
    job.seed = job.seed * 1664525U + 1013904223U;
  }
  return result;
}

}  // namespace headroom::allocator::testing

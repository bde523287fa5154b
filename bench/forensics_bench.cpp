// SPDX-License-Identifier: Apache-2.0
// What looking closely costs: the report of an out of memory at 100,000 live blocks (to be had
// within 10 ms), one event of the flight recorder, a tensor's name, and asking the budget that
// processes share.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "allocator/files/budget_ledger.h"
#include "allocator/files/flight_recorder.h"
#include "allocator/forensics/diagnose.h"
#include "allocator/forensics/name_table.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/replay/recording.h"
#include "allocator/simulated_backend.h"
#include "base/bytes.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// Blocks with a free piece behind every second one, of as many different sizes as asked for.
HeapView large_heap(std::size_t blocks, std::uint64_t sizes, bool by_address) {
  HeapView view;
  std::mt19937_64 random(5);
  Address at = 1024 * mib;
  const Address begin = at;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t bytes = 512 * (1 + random() % sizes);
    view.blocks.push_back({.address = at,
                           .bytes = bytes,
                           .requested_bytes = bytes - random() % 512,
                           .birth = i,
                           .tag = static_cast<Component>(random() % component_count),
                           .name = static_cast<NameId>(random() % 200)});
    at += bytes;
    if (i % 2 == 0) continue;
    const std::uint64_t gap = 512 * (1 + random() % 8192);
    view.free.push_back({at, gap, 0, random() % 16 == 0});
    at += gap;
  }
  view.spans = {{begin, round_up(at - begin, 2 * mib), 0, true}};
  view.now = blocks;
  view.iterations = {blocks / 4, blocks / 2};
  if (!by_address) std::shuffle(view.free.begin(), view.free.end(), random);
  return view;
}

void diagnose_heap(benchmark::State& state, std::uint64_t sizes, bool by_address) {
  const HeapView view = large_heap(100000, sizes, by_address);
  std::size_t characters = 0;
  for (auto _ : state) characters += to_text(diagnose(view)).size();
  benchmark::DoNotOptimize(characters);
}

void few_sizes(benchmark::State& state) {
  diagnose_heap(state, 200, true);
}
void all_different(benchmark::State& state) {
  diagnose_heap(state, std::uint64_t{1} << 30U, true);
}
void all_different_unsorted(benchmark::State& state) {
  diagnose_heap(state, std::uint64_t{1} << 30U, false);
}
BENCHMARK(few_sizes)->Name("diagnose, 100,000 blocks of 200 sizes")->Unit(benchmark::kMillisecond);
BENCHMARK(all_different)
    ->Name("diagnose, 100,000 blocks, all different")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(all_different_unsorted)
    ->Name("diagnose, all different, free pieces in no order")
    ->Unit(benchmark::kMillisecond);

// The whole way: every block is looked up in an allocator that holds this many, and every third
// place between them is free.
void explain_heap(benchmark::State& state) {
  SimulatedBackend device;
  HeadroomAllocator allocator(device, std::uint64_t{64} << 30U);
  std::mt19937_64 random(5);
  std::vector<Address> blocks;
  const auto count = static_cast<std::size_t>(state.range(0));
  for (std::size_t i = 0; i < count + count / 2; ++i)
    blocks.push_back(*allocator.allocate({.bytes = 1 + random() % (std::uint64_t{512} << 10U),
                                          .tag = static_cast<Component>(random() % component_count),
                                          .name = static_cast<NameId>(random() % 200)}));
  for (std::size_t i = 0; i < blocks.size(); i += 3) allocator.free(blocks[i]);
  const Request refused{.bytes = std::uint64_t{65} << 30U, .tag = Component::logits};
  std::size_t characters = 0;
  for (auto _ : state) characters += to_text(allocator.explain(refused)).size();
  benchmark::DoNotOptimize(characters);
}
BENCHMARK(explain_heap)
    ->Name("the report from an allocator, live blocks")
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

// What a program pays for being recorded: a block is allocated and freed, from memory that is
// there.
void allocate_and_free(benchmark::State& state) {
  const auto folder = machine::TemporaryFolder::make();
  std::unique_ptr<FlightRecorder> recorder;
  SimulatedBackend device;
  HeadroomAllocator::Options options;
  options.planning = false;
  if (state.range(0) == 1) {
    recorder = *FlightRecorder::create(folder->path() + "/flight", {});
    options.recorder = [&](std::uint32_t) { return &recorder->shard(0); };
    options.device_recorder = &recorder->device_shard();
  }
  HeadroomAllocator allocator(device, 1024 * mib, std::move(options));
  for (auto _ : state) allocator.free(*allocator.allocate({.bytes = mib}));
}
BENCHMARK(allocate_and_free)->Name("allocate and free, recorded")->Arg(0)->Arg(1);

void flight_event(benchmark::State& state) {
  const auto folder = machine::TemporaryFolder::make();
  const auto recorder = FlightRecorder::create(folder->path() + "/flight", {});
  FlightShard& shard = (*recorder)->shard(0);
  FlightEvent event{
      .kind = FlightKind::allocate, .address = 4096, .bytes = 1024, .requested = 1000};
  for (auto _ : state) {
    event.address += 512;
    shard.note(event);
  }
}
BENCHMARK(flight_event)->Name("one event of the flight recorder");

void read_recording(benchmark::State& state) {
  const auto folder = machine::TemporaryFolder::make();
  const std::string path = folder->path() + "/flight";
  {
    const auto recorder = FlightRecorder::create(path, {});
    for (std::uint64_t i = 1; i <= 65536; ++i)
      (*recorder)->shard(0).note({.address = i * 512, .bytes = 512, .requested = 512});
  }
  const std::string bytes = *machine::read_file(path);
  for (auto _ : state) benchmark::DoNotOptimize(parse_flight_record(bytes)->events.size());
}
BENCHMARK(read_recording)->Name("read 65,536 events")->Unit(benchmark::kMillisecond);

void known_name(benchmark::State& state) {
  NameTable names;
  for (int i = 0; i < 500; ++i) names.intern(fmt::format("model.layers.{}.mlp.up_proj", i));
  const std::string name = "model.layers.17.mlp.up_proj";
  for (auto _ : state) benchmark::DoNotOptimize(names.intern(name));
}
BENCHMARK(known_name)->Name("a tensor's name that was seen before");

// One member alone, and one of eight.
void ledger(benchmark::State& state) {
  const auto folder = machine::TemporaryFolder::make();
  std::vector<std::unique_ptr<BudgetLedger>> members;
  for (int i = 0; i < state.range(0); ++i)
    members.push_back(std::move(
        *BudgetLedger::join(folder->path() + "/ledger", {.total_bytes = 1024 * mib, .share = {}})));
  for (auto _ : state) {
    benchmark::DoNotOptimize(members[0]->take(2 * mib).has_value());
    benchmark::DoNotOptimize(members[0]->give_back(2 * mib).has_value());
  }
}
BENCHMARK(ledger)
    ->Name("take from the shared budget and give back, members")
    ->Arg(1)
    ->Arg(8)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headroom::allocator

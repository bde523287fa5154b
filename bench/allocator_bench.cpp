// SPDX-License-Identifier: Apache-2.0
// What one event (an allocation or a free) costs: headroom's allocator, the model of PyTorch's and
// the C library's malloc on the same generated training steps, with `vs_malloc` as the ratio.
// Time is taken over whole replays, since reading a clock costs as much as a third of an event.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"
#include "event_times.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t kib = 1024;

// Steps of a decoder with lengths that vary: activations live from forward to backward, each
// operator has temporaries, and small blocks lie between the large ones.
class Steps {
 public:
  explicit Steps(int steps) {
    for (int i = 0; i < 200; ++i) allocate(64 * kib + random_() % (512 * kib));  // Weights.
    for (int i = 0; i < steps; ++i) step(32 + random_() % 96);
    trace_.objects = next_object_;
  }
  const Trace& trace() const { return trace_; }

 private:
  std::uint32_t allocate(std::uint64_t bytes) {
    trace_.events.push_back({EventKind::allocate, Component::other, 0, next_object_, bytes});
    return next_object_++;
  }
  void free(std::uint32_t object) {
    trace_.events.push_back({EventKind::free, Component::other, 0, object, 0});
  }
  void with_temporaries(std::uint64_t length) {
    const std::uint32_t scores = allocate(length * length * 8);
    free(allocate(512 + random_() % 4096));
    free(scores);
  }
  void step(std::uint64_t length) {
    std::vector<std::uint32_t> saved;
    for (int layer = 0; layer < 24; ++layer) {
      for (int op = 0; op < 8; ++op) {
        saved.push_back(allocate(length * kib * (op % 3 == 0 ? 4 : 1)));
        saved.push_back(allocate(length * 4));
        with_temporaries(length);
      }
    }
    for (; !saved.empty(); saved.pop_back()) {
      with_temporaries(length);
      free(saved.back());
    }
  }

  Trace trace_;
  std::uint32_t next_object_ = 0;
  std::mt19937_64 random_{1};
};

// The C library as a policy: it knows addresses and nothing else.
class Malloc final : public Policy {
 public:
  std::optional<Address> allocate(const Request& request) override {
    return reinterpret_cast<Address>(std::malloc(request.bytes));
  }
  void free(Address address) override { std::free(reinterpret_cast<void*>(address)); }
  void retag(Address /*address*/, Component /*tag*/) override {}
  void synchronize(StreamId /*stream*/) override {}
  const Usage& usage() const override { return usage_; }
  std::string_view name() const override { return "malloc"; }

 private:
  Usage usage_;
};

void give_back(const Trace& trace, Policy& policy, std::vector<Address>& addresses) {
  for (std::uint32_t object = 0; object < trace.objects; ++object) {
    if (addresses[object] != 0) policy.free(addresses[object]);
    addresses[object] = 0;
  }
}

// Replays the whole trace, then frees what it left live; the events that it took.
std::uint64_t run(const Trace& trace, Policy& policy, std::vector<Address>& addresses) {
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::allocate) {
      addresses[event.object] = *policy.allocate({event.bytes, event.tag, event.stream});
    } else {
      policy.free(addresses[event.object]);
      addresses[event.object] = 0;
    }
  }
  give_back(trace, policy, addresses);
  return trace.events.size();
}

// Of processor time, so that other programs on the machine do not count.
class Stopwatch {
 public:
  double ns() const {
    return 1e9 * static_cast<double>(std::clock() - start_) / static_cast<double>(CLOCKS_PER_SEC);
  }

 private:
  std::clock_t start_ = std::clock();
};

double malloc_ns_per_event(const Trace& trace) {
  Malloc c_library;
  std::vector<Address> addresses(trace.objects);
  run(trace, c_library, addresses);
  std::uint64_t events = 0;
  const Stopwatch watch;
  for (int i = 0; i < 30; ++i) events += run(trace, c_library, addresses);
  return watch.ns() / static_cast<double>(events);
}

void measure(benchmark::State& state, Policy& policy, const Trace& trace) {
  const double malloc_ns = malloc_ns_per_event(trace);
  std::vector<Address> addresses(trace.objects);
  run(trace, policy, addresses);
  const std::uint64_t warm_calls = policy.usage().device_calls;
  std::uint64_t events = 0;
  const Stopwatch watch;
  for (auto _ : state) events += run(trace, policy, addresses);
  const double ns = watch.ns() / static_cast<double>(events);
  state.counters["ns/event"] = ns;
  state.counters["vs_malloc"] = ns / malloc_ns;
  state.counters["warm_calls"] = static_cast<double>(policy.usage().device_calls - warm_calls);
}

void bench_policy(benchmark::State& state, const std::string& name) {
  const auto policy = *make_policy(name);
  measure(state, *policy, Steps(20).trace());
}

// With real pages behind it, in 2 % above the live peak.
void bench_headroom_on_host_memory(benchmark::State& state) {
  const Steps steps(20);
  ExactPolicy exact(unlimited_capacity_bytes);
  const std::uint64_t peak = replay(steps.trace(), exact).usage.live_peak_bytes;
  auto backend = HostBackend::create();
  if (!backend) return state.SkipWithError(backend.error().message.c_str());
  HeadroomAllocator allocator(**backend, peak + peak / 50);
  measure(state, allocator, steps.trace());
}

// How the cost is spread, warm and with memory to spare: the median of batches of 64 events, and
// the 99.9th percentile of events timed one by one, less what reading the clock costs. Wall time,
// so on a busy machine the latter says what the machine does.
void bench_spread_on_host_memory(benchmark::State& state) {
  const Trace trace = bench::closed(Steps(20).trace());
  ExactPolicy exact(unlimited_capacity_bytes);
  const std::uint64_t peak = replay(trace, exact).usage.live_peak_bytes;
  auto backend = HostBackend::create();
  if (!backend) return state.SkipWithError(backend.error().message.c_str());
  HeadroomAllocator allocator(**backend, peak + peak / 4);
  std::optional<bench::EventTimes> times;
  for (auto _ : state) times = bench::EventTimer(trace, allocator).measure(5);
  if (!times) return state.SkipWithError("the trace does not fit");
  state.counters["ns/event"] = times->ns_per_event;
  state.counters["median_ns"] = times->median_ns;
  state.counters["p99.9_ns"] = times->p99_9_ns;
  state.counters["warm_calls"] = static_cast<double>(times->warm_calls);
}

// As many streams as the argument says, each with one block: what an event costs must not grow with
// them.
void bench_streams(benchmark::State& state, const std::string& name) {
  Trace trace;
  trace.objects = static_cast<std::uint32_t>(state.range(0));
  for (const EventKind kind : {EventKind::allocate, EventKind::free}) {
    for (std::uint32_t i = 0; i < trace.objects; ++i)
      trace.events.push_back({kind, Component::activations, i, i, 1024 * kib});
  }
  std::uint64_t events = 0;
  const Stopwatch watch;
  for (auto _ : state) events += replay(trace, **make_policy(name)).events;
  state.counters["ns/event"] = watch.ns() / static_cast<double>(events);
}

void bench_malloc(benchmark::State& state) {
  Malloc c_library;
  measure(state, c_library, Steps(20).trace());
}

BENCHMARK_CAPTURE(bench_policy, headroom, std::string("headroom"));
BENCHMARK_CAPTURE(bench_policy, torch, std::string("torch"));
BENCHMARK_CAPTURE(bench_policy, torch_expandable, std::string("torch-expandable"));
BENCHMARK(bench_headroom_on_host_memory);
BENCHMARK(bench_spread_on_host_memory);
BENCHMARK_CAPTURE(bench_streams, headroom, std::string("headroom"))->Arg(1250)->Arg(20000);
BENCHMARK_CAPTURE(bench_streams, headroom_no_vmm, std::string("headroom-no-vmm"))
    ->Arg(1250)
    ->Arg(20000);
BENCHMARK(bench_malloc);

}  // namespace
}  // namespace headroom::allocator

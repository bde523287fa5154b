// SPDX-License-Identifier: Apache-2.0
// What an event (an allocation or a free) of a trace costs under a policy, warm: the whole trace
// has been replayed before, so that what it needs is cached. For every allocator the same loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <vector>

#include "allocator/policy.h"
#include "allocator/replay/trace.h"

namespace headroom::bench {

struct EventTimes {
  double ns_per_event = 0;       // Over a whole replay, processor time; the best of the replays.
  double median_ns = 0;          // Of the means of batches of 64 events, one reading per batch.
  double p99_9_ns = 0;           // Of events timed one by one, the clock's own cost taken off.
  std::uint64_t warm_calls = 0;  // Asked of the device after the first replay.
};

// The trace, and a free of whatever it leaves live: it can be replayed over and over.
inline allocator::Trace closed(allocator::Trace trace) {
  std::vector<bool> live(trace.objects);
  for (const allocator::Event& event : trace.events) {
    if (event.kind == allocator::EventKind::allocate) live[event.object] = true;
    if (event.kind == allocator::EventKind::free) live[event.object] = false;
  }
  for (std::uint32_t object = 0; object < trace.objects; ++object) {
    if (live[object])
      trace.events.push_back(
          {allocator::EventKind::free, allocator::Component::other, 0, object, 0});
  }
  return trace;
}

class EventTimer {
 public:
  // Requires: `trace` is closed().
  EventTimer(const allocator::Trace& trace, allocator::Policy& policy)
      : trace_(trace), policy_(policy), addresses_(trace.objects) {}

  // Nothing if the policy refuses an event.
  std::optional<EventTimes> measure(int replays) {
    EventTimes times;
    if (!replay_all()) return std::nullopt;
    const std::uint64_t calls = policy_.usage().device_calls;
    for (int i = 0; i < replays; ++i) {
      const double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
      if (!replay_all()) return std::nullopt;
      const double took = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
      const double ns = took / static_cast<double>(trace_.events.size());
      if (i == 0 || ns < times.ns_per_event) times.ns_per_event = ns;
    }
    const std::vector<double> batches = timed_by(64, replays);
    const std::vector<double> singles = timed_by(1, replays);
    if (batches.empty() || singles.empty()) return std::nullopt;
    times.median_ns = batches[batches.size() / 2];
    times.p99_9_ns =
        std::max(0.0, singles[singles.size() - 1 - singles.size() / 1000] - clock_ns());
    times.warm_calls = policy_.usage().device_calls - calls;
    return times;
  }

 private:
  static double now_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  }

  // What one reading costs, which every interval contains once.
  static double clock_ns() {
    double least = 1e9;
    for (int i = 0; i < 1000; ++i) {
      const double start = now_ns(CLOCK_MONOTONIC);
      least = std::min(least, now_ns(CLOCK_MONOTONIC) - start);
    }
    return least;
  }

  bool replay(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const allocator::Event& event = trace_.events[i];
      switch (event.kind) {
        case allocator::EventKind::allocate: {
          const auto address = policy_.allocate({event.bytes, event.tag, event.stream});
          if (!address) return false;
          addresses_[event.object] = *address;
          break;
        }
        case allocator::EventKind::free:
          policy_.free(addresses_[event.object]);
          break;
        case allocator::EventKind::synchronize:
          policy_.synchronize(event.stream);
          break;
      }
    }
    return true;
  }
  bool replay_all() { return replay(0, trace_.events.size()); }

  // Nanoseconds per event of every batch of so many events, sorted; empty if the policy refuses
  // one.
  std::vector<double> timed_by(std::size_t batch, int replays) {
    // Written once beforehand: a page fault at its first use would count as an event's.
    const std::size_t batches = trace_.events.size() / batch;
    std::vector<double> times(batches * static_cast<std::size_t>(replays), 1.0);
    std::size_t taken = 0;
    for (int i = 0; i < replays; ++i) {
      double before = now_ns(CLOCK_MONOTONIC);
      for (std::size_t at = 0; at + batch <= trace_.events.size(); at += batch) {
        if (!replay(at, at + batch)) return {};
        const double after = now_ns(CLOCK_MONOTONIC);
        times[taken++] = (after - before) / static_cast<double>(batch);
        before = after;
      }
      if (!replay(batches * batch, trace_.events.size())) return {};
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  const allocator::Trace& trace_;
  allocator::Policy& policy_;
  std::vector<allocator::Address> addresses_;
};

}  // namespace headroom::bench

// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/call_curve.h"

#include <array>

namespace headroom::allocator {
namespace {

// Tenths of a percent above the live peak: close together where calls fall fastest.
constexpr std::array<std::uint64_t, 12> steps = {0,  5,   10,  20,  30,  50,
                                                 75, 100, 150, 250, 500, 1000};
constexpr std::uint64_t per_peak = 1000;

CallPoint measure(const Trace& trace, std::uint64_t capacity,
                  std::optional<std::uint64_t> steady_from, const PolicyMaker& make) {
  std::vector<std::uint64_t> marks;
  if (steady_from) marks.push_back(*steady_from);
  const auto policy = make(capacity);
  const ReplayResult run = replay(trace, *policy, marks);
  CallPoint point{
      capacity,    run.completed, run.events, run.usage.device_calls, run.usage.device_ns,
      std::nullopt};
  if (!run.completed || run.at_marks.empty() || *steady_from >= run.events) return point;
  const std::uint64_t calls = run.usage.device_calls - run.at_marks.front().device_calls;
  point.steady_calls_per_event =
      static_cast<double>(calls) / static_cast<double>(run.events - *steady_from);
  return point;
}

}  // namespace

std::vector<CallPoint> measure_call_curve(const Trace& trace, std::uint64_t live_peak_bytes,
                                          std::optional<std::uint64_t> steady_from,
                                          const PolicyMaker& make) {
  std::vector<CallPoint> curve;
  if (live_peak_bytes == 0) return curve;
  for (const std::uint64_t step : steps) {
    const std::uint64_t more = (live_peak_bytes * step + per_peak - 1) / per_peak;
    curve.push_back(measure(trace, live_peak_bytes + more, steady_from, make));
  }
  return curve;
}

}  // namespace headroom::allocator

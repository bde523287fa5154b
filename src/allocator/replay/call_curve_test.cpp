// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/call_curve.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "allocator/models/make_policy.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

PolicyMaker maker(const char* name) {
  return [name](std::uint64_t bytes) { return std::move(*make_policy(name, bytes)); };
}

// 40 blocks of 3 MiB, all live at once.
Trace plain_trace() {
  std::string text;
  for (int i = 1; i <= 40; ++i) text += "a " + std::to_string(i) + " 3145728\n";
  return std::move(*parse_trace(text));
}

TEST(CallCurve, begins_at_the_live_peak_and_ends_at_twice_of_it) {
  const auto curve = measure_call_curve(plain_trace(), 120 * mib, std::nullopt, maker("exact"));
  ASSERT_GT(curve.size(), 2U);
  EXPECT_EQ(curve.front().capacity_bytes, 120 * mib);
  EXPECT_EQ(curve.back().capacity_bytes, 240 * mib);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_TRUE(curve[i].completed);
    EXPECT_FALSE(curve[i].steady_calls_per_event.has_value()) << "nothing repeats";
    if (i == 0) continue;
    EXPECT_GT(curve[i].capacity_bytes, curve[i - 1].capacity_bytes);
  }
}

TEST(CallCurve, tells_what_a_replay_of_the_same_capacity_tells) {
  const Trace trace = plain_trace();
  const auto curve = measure_call_curve(trace, 120 * mib, 30, maker("torch"));
  bool failed = false;
  for (const CallPoint& point : curve) {
    const auto policy = maker("torch")(point.capacity_bytes);
    const ReplayResult run = replay(trace, *policy, {30});
    EXPECT_EQ(point.completed, run.completed);
    EXPECT_EQ(point.events, run.events);
    EXPECT_EQ(point.device_calls, run.usage.device_calls);
    EXPECT_EQ(point.steady_calls_per_event.has_value(), run.completed);
    failed = failed || !run.completed;
    if (!run.completed) continue;
    const auto late = run.usage.device_calls - run.at_marks.front().device_calls;
    EXPECT_DOUBLE_EQ(*point.steady_calls_per_event, static_cast<double>(late) / 10);
  }
  EXPECT_TRUE(failed) << "a segment of 20 MiB has place for six blocks";
}

TEST(CallCurve, of_nothing_is_nothing) {
  EXPECT_TRUE(measure_call_curve(Trace{}, 0, std::nullopt, maker("headroom")).empty());
}

}  // namespace
}  // namespace headroom::allocator

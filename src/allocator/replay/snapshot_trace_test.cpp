// SPDX-License-Identifier: Apache-2.0
// Snapshots by hand → the trace that they stand for.
#include "allocator/replay/snapshot_trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"

namespace headroom::allocator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Action = SnapshotAction;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::vector<std::string> lines(const Trace& trace) {
  std::vector<std::string> text;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::allocate)
      text.push_back(fmt::format("a {} {} {}", event.object, event.bytes, event.stream));
    else
      text.push_back(fmt::format("f {}", event.object));
  }
  return text;
}

SnapshotEvent event(Action action, std::uint64_t address, std::uint64_t bytes,
                    std::uint64_t stream = 0, SnapshotOwner owner = {}) {
  return {action, address, bytes, stream, 0, owner};
}

TEST(SnapshotTrace, a_block_is_freed_when_its_memory_can_be_used_again) {
  Snapshot snapshot;
  snapshot.events = {event(Action::segment_alloc, 4096, 2 * mib),
                     event(Action::alloc, 4096, 100),
                     event(Action::free_requested, 4096, 100),
                     event(Action::alloc, 8192, 200),
                     event(Action::free_completed, 4096, 100),
                     event(Action::alloc, 4096, 300),
                     event(Action::snapshot, 0, 0)};
  const auto trace = to_trace(snapshot);
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(lines(trace->trace), ElementsAre("a 0 100 0", "a 1 200 0", "f 0", "a 0 300 0"));
  EXPECT_EQ(trace->live_at_start, 0U);
  EXPECT_EQ(trace->contradictions, 0U);
  EXPECT_FALSE(trace->oom.has_value());
}

TEST(SnapshotTrace, what_was_live_before_the_first_event_comes_first_by_address) {
  Snapshot snapshot;
  snapshot.events = {event(Action::free_completed, 9216, 700, 42), event(Action::alloc, 9216, 800),
                     event(Action::alloc, 12'288, 900)};
  // At the end: a block that no event mentions, one from the events, one that waits, a free one.
  snapshot.segments.push_back({4096,
                               2 * mib,
                               77,
                               false,
                               {{4096, 512, 300, SnapshotBlockState::active_allocated, {}},
                                {9216, 1024, 800, SnapshotBlockState::active_allocated, {}},
                                {10'240, 512, 44, SnapshotBlockState::active_awaiting_free, {}},
                                {20'480, 512, 0, SnapshotBlockState::inactive, {}}}});
  const auto trace = to_trace(snapshot);
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(lines(trace->trace),
              ElementsAre("a 0 300 1", "a 1 700 2", "a 2 44 1", "f 1", "a 1 800 0", "a 3 900 0"));
  EXPECT_EQ(trace->live_at_start, 3U);
  EXPECT_EQ(trace->live_at_start_bytes, 1044U);
}

TEST(SnapshotTrace, what_was_freed_in_the_events_was_not_live_at_the_start_again) {
  Snapshot snapshot;
  snapshot.events = {event(Action::alloc, 512, 10), event(Action::free_completed, 512, 10)};
  snapshot.segments.push_back(
      {512, 1024, 0, false, {{512, 512, 10, SnapshotBlockState::active_allocated, {}}}});
  const auto trace = to_trace(snapshot);
  EXPECT_THAT(lines(trace->trace), ElementsAre("a 0 10 0", "f 0"));
}

Snapshot refused() {
  Snapshot snapshot;
  snapshot.names = {"", "train.py:3 forward"};
  const SnapshotOwner forward{Component::activations, 1};
  snapshot.events = {event(Action::oom, 0, 512),
                     event(Action::alloc, 4 * mib, 3 * mib, 0, forward),
                     event(Action::alloc, 8 * mib, 1000),
                     event(Action::segment_free, 64 * mib, 20 * mib),
                     event(Action::oom, 6 * mib, 30 * mib, 0, forward),
                     event(Action::free_requested, 4 * mib, 3 * mib),
                     event(Action::free_completed, 4 * mib, 3 * mib),
                     event(Action::segment_free, 4 * mib, 4 * mib),
                     event(Action::snapshot, 0, 0)};
  snapshot.segments.push_back({8 * mib, 20 * mib});
  return snapshot;
}

TEST(SnapshotTrace, an_oom_ends_the_trace_with_the_refused_request) {
  const auto trace = to_trace(refused());
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(lines(trace->trace), ElementsAre(fmt::format("a 0 {} 0", 3 * mib), "a 1 1000 0",
                                               fmt::format("a 2 {} 0", 30 * mib)));
  ASSERT_TRUE(trace->oom.has_value());
  EXPECT_EQ(trace->oom->refused_bytes, 30 * mib);
  EXPECT_EQ(trace->oom->device_free_bytes, 6 * mib);
  EXPECT_EQ(trace->oom->live_bytes, 3 * mib + 1024);
  EXPECT_EQ(trace->oom->reserved_bytes, 24 * mib);  // 20 are left, and 4 went back after it.
  EXPECT_EQ(trace->oom->unused_bytes(), 21 * mib - 1024);
  EXPECT_EQ(trace->oom->capacity_bytes(), 30 * mib);
  EXPECT_EQ(trace->oom->earlier, 1U);
  EXPECT_EQ(trace->oom->later_allocations, 0U);
  ASSERT_EQ(trace->oom->largest.size(), 2U);
  EXPECT_EQ(trace->oom->largest[0].bytes, 3 * mib);
  EXPECT_EQ(trace->oom->largest[0].owner.name, 1U);
}

TEST(SnapshotTrace, room_on_the_device_that_was_refused_was_not_for_this_process) {
  Snapshot snapshot = refused();
  snapshot.events[4].address = 4096 * mib;
  const auto trace = to_trace(snapshot);
  EXPECT_TRUE(trace->oom->limited_by_the_process());
  EXPECT_EQ(trace->oom->capacity_bytes(), 24 * mib);
}

TEST(SnapshotTrace, what_the_program_did_after_the_refusal_is_counted_and_left_out) {
  Snapshot snapshot = refused();
  snapshot.events.push_back(event(Action::alloc, 8 * mib, 512));
  const auto trace = to_trace(snapshot);
  EXPECT_EQ(trace->oom->later_allocations, 1U);
  EXPECT_EQ(trace->trace.events.size(), 3U);
}

TEST(SnapshotTrace, without_a_history_it_says_how_to_get_one) {
  Snapshot snapshot;
  snapshot.segments.push_back({4096, 2 * mib});
  snapshot.events = {event(Action::snapshot, 0, 0)};
  const auto trace = to_trace(snapshot);
  ASSERT_FALSE(trace.has_value());
  EXPECT_THAT(trace.error().message, HasSubstr("1 segments and no history"));
  EXPECT_THAT(trace.error().next, HasSubstr("torch.cuda.memory._record_memory_history()"));
  // Under headroom's allocator that call records nothing.
  EXPECT_THAT(trace.error().next, HasSubstr("HEADROOM_ALLOCATOR_RECORDINGS=FOLDER"));
}

TEST(SnapshotTrace, an_oom_and_the_segments_are_enough_for_an_answer) {
  Snapshot snapshot;
  snapshot.events = {event(Action::oom, mib, 40 * mib)};
  snapshot.segments.push_back(
      {4096,
       20 * mib,
       0,
       false,
       {{4096, 4 * mib, 4 * mib, SnapshotBlockState::active_allocated, {}}}});
  const auto trace = to_trace(snapshot);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->trace.events.size(), 2U);
  EXPECT_EQ(trace->oom->live_bytes, 4 * mib);
  EXPECT_EQ(trace->oom->capacity_bytes(), 21 * mib);
}

TEST(SnapshotTrace, contradictions_are_counted_and_can_be_replayed) {
  Snapshot snapshot;
  snapshot.events = {event(Action::alloc, 512, 10), event(Action::alloc, 512, 20),
                     event(Action::free_completed, 512, 20),
                     event(Action::free_completed, 512, 20)};
  const auto trace = to_trace(snapshot);
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(lines(trace->trace), ElementsAre("a 0 10 0", "f 0", "a 0 20 0", "f 0"));
  EXPECT_EQ(trace->contradictions, 2U);
  for (const std::string& name : policy_names()) {
    const auto policy = *make_policy(name, 64 * mib);
    EXPECT_TRUE(replay(trace->trace, *policy).completed);
  }
}

TEST(SnapshotTrace, a_size_that_no_device_has_is_an_error) {
  Snapshot snapshot;
  snapshot.events = {event(Action::alloc, 512, UINT64_MAX)};
  EXPECT_THAT(to_trace(snapshot).error().message, HasSubstr("18446744073709551615 bytes at once"));
}

TEST(SnapshotTrace, sizes_whose_sum_no_device_has_are_an_error) {
  Snapshot snapshot;
  for (std::uint64_t i = 0; i < (1U << 18U); ++i)  // 2^64 bytes in all.
    snapshot.events.push_back(event(Action::alloc, 512 * i, std::uint64_t{1} << 46U));
  EXPECT_THAT(to_trace(snapshot).error().message, HasSubstr("than any device has"));
}

}  // namespace
}  // namespace headroom::allocator

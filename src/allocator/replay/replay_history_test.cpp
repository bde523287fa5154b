// SPDX-License-Identifier: Apache-2.0
// What a replay remembers, and its way into PyTorch's format and back to the same trace.
#include "allocator/replay/replay_history.h"

#include <gtest/gtest.h>

#include <random>

#include "allocator/models/make_policy.h"
#include "allocator/replay/snapshot_trace.h"
#include "allocator/snapshot/snapshot_reader.h"
#include "allocator/snapshot/snapshot_writer.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

Trace random_trace(unsigned seed) {
  std::mt19937_64 random(seed);
  Trace trace;
  std::vector<std::uint32_t> live;
  std::vector<std::uint32_t> unused;
  for (int i = 0; i < 2000; ++i) {
    if (live.size() < 20 || (live.size() < 200 && random() % 2 == 0)) {
      if (unused.empty()) unused.push_back(trace.objects++);
      const auto tag = all_components.at(random() % component_count);
      trace.events.push_back({EventKind::allocate, tag, static_cast<StreamId>(random() % 3),
                              unused.back(), 1 + random() % (3 * mib)});
      live.push_back(unused.back());
      unused.pop_back();
    } else {
      const std::size_t at = random() % live.size();
      trace.events.push_back({EventKind::free, Component::other, 0, live[at], 0});
      unused.push_back(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return trace;
}

TEST(ReplayHistory, remembers_every_block_and_what_was_held) {
  const Trace trace = *parse_trace("a 1 1000 0 weights\na 2 600 7\ns 7\nf 1\na 3 100\n");
  const auto policy = *make_policy("headroom", 64 * mib);
  const ReplayHistory history = replay_with_history(trace, *policy);
  EXPECT_TRUE(history.result.completed);
  ASSERT_EQ(history.blocks.size(), 3U);
  EXPECT_EQ(history.blocks[0].bytes, 1024U);
  EXPECT_EQ(history.blocks[0].requested_bytes, 1000U);
  EXPECT_EQ(history.blocks[0].begin, 0U);
  EXPECT_EQ(history.blocks[0].end, 3U);
  EXPECT_EQ(history.blocks[0].tag, Component::weights);
  EXPECT_EQ(history.blocks[1].stream, 7U);
  EXPECT_EQ(history.blocks[1].end, BlockLife::never);
  ASSERT_EQ(history.held.size(), 5U);
  EXPECT_EQ(history.held[1].live, 2048U);
  EXPECT_EQ(history.held[3].live, 1024U);
  EXPECT_EQ(history.held[4].reserved, 4 * mib);  // A page for each stream.
}

TEST(ReplayHistory, says_the_same_as_a_plain_replay) {
  const Trace trace = random_trace(3);
  for (const std::string& name : policy_names()) {
    for (const std::uint64_t capacity : {128 * mib, 4096 * mib}) {
      const auto plain = *make_policy(name, capacity);
      const auto watched = *make_policy(name, capacity);
      const ReplayResult expected = replay(trace, *plain);
      const ReplayHistory history = replay_with_history(trace, *watched);
      EXPECT_EQ(history.result.completed, expected.completed) << name;
      EXPECT_EQ(history.result.failed_at, expected.failed_at) << name;
      EXPECT_EQ(history.result.usage.reserved_peak_bytes, expected.usage.reserved_peak_bytes);
      EXPECT_EQ(history.held.size(), expected.events);
    }
  }
}

TEST(ReplayHistory, an_export_read_back_is_the_same_trace) {
  const Trace trace = random_trace(5);
  for (const std::string& name : policy_names()) {
    const auto policy = *make_policy(name, 4096 * mib);
    const ReplayHistory history = replay_with_history(trace, *policy);
    ASSERT_TRUE(history.result.completed) << name;
    const auto read = read_snapshot(to_pickle(to_snapshot(history, 4096 * mib)));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    const auto again = to_trace(read->snapshot);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->live_at_start, 0U);
    EXPECT_EQ(again->contradictions, 0U);
    ASSERT_EQ(again->trace.events.size(), trace.events.size()) << name;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event& was = trace.events[i];
      const Event& is = again->trace.events[i];
      ASSERT_EQ(is.kind, was.kind) << name << " " << i;
      ASSERT_EQ(is.bytes, was.bytes);
      ASSERT_EQ(is.tag, was.kind == EventKind::allocate ? was.tag : Component::other);
    }
  }
}

TEST(ReplayHistory, segments_of_an_export_are_tiled_by_their_blocks) {
  const Trace trace = random_trace(9);
  const auto policy = *make_policy("headroom", 4096 * mib);
  const Snapshot snapshot = to_snapshot(replay_with_history(trace, *policy), 4096 * mib);
  std::uint64_t mapped = 0;
  for (const SnapshotEvent& event : snapshot.events) {
    if (event.action == SnapshotAction::segment_map) mapped += event.bytes;
    if (event.action == SnapshotAction::segment_unmap) mapped -= event.bytes;
  }
  std::uint64_t held = 0;
  std::uint64_t end = 0;
  for (const SnapshotSegment& segment : snapshot.segments) {
    EXPECT_GT(segment.address, end);  // Neighbours would be one segment.
    end = segment.address;
    for (const SnapshotBlock& block : segment.blocks) {
      ASSERT_EQ(block.address, end);
      end += block.size_bytes;
    }
    ASSERT_EQ(end, segment.address + segment.total_bytes);
    held += segment.total_bytes;
  }
  EXPECT_EQ(mapped, held);
}

TEST(ReplayHistory, an_export_never_maps_more_than_the_policy_held) {
  const Trace trace = random_trace(13);
  for (const std::string& name : policy_names()) {
    const auto measured = *make_policy(name, 4096 * mib);
    const std::uint64_t capacity = replay(trace, *measured).usage.live_peak_bytes * 3 / 2;
    const auto policy = *make_policy(name, capacity);
    const ReplayHistory history = replay_with_history(trace, *policy);
    const Snapshot snapshot = to_snapshot(history, capacity);
    std::uint64_t mapped = 0;
    for (const SnapshotEvent& event : snapshot.events) {
      if (event.action == SnapshotAction::segment_map) mapped += event.bytes;
      if (event.action == SnapshotAction::segment_unmap) mapped -= event.bytes;
      // The model of the ideal holds bytes and no units.
      const bool checked = event.action == SnapshotAction::alloc && name != "exact";
      ASSERT_TRUE(!checked || mapped <= capacity) << name;
    }
  }
}

TEST(ReplayHistory, what_a_policy_gave_back_is_unmapped_in_the_export) {
  const Trace trace = *parse_trace("a 1 31457280\nf 1\na 2 41943040\n");
  const auto policy = *make_policy("torch", 48 * mib);
  const Snapshot snapshot = to_snapshot(replay_with_history(trace, *policy), 48 * mib);
  ASSERT_EQ(snapshot.segments.size(), 1U);
  EXPECT_EQ(snapshot.segments[0].total_bytes, 40 * mib);
}

TEST(ReplayHistory, a_replay_that_fails_ends_in_an_oom) {
  const Trace trace = *parse_trace("a 1 5000000\na 2 9000000\n");
  const auto policy = *make_policy("headroom", 10 * mib);
  const Snapshot snapshot = to_snapshot(replay_with_history(trace, *policy), 10 * mib);
  ASSERT_FALSE(snapshot.events.empty());
  EXPECT_EQ(snapshot.events.back().action, SnapshotAction::oom);
  EXPECT_EQ(snapshot.events.back().bytes, 9'000'000U);
  EXPECT_EQ(snapshot.events.back().address, 4 * mib);
  const auto trace_again = to_trace(snapshot);
  ASSERT_TRUE(trace_again.has_value());
  EXPECT_EQ(trace_again->oom->refused_bytes, 9'000'000U);
  EXPECT_EQ(trace_again->trace.events.size(), 2U);
}

}  // namespace
}  // namespace headroom::allocator

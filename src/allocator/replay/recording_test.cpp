// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/recording.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "allocator/models/exact_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "allocator/replay/testing/memory_recording.h"

namespace headroom::allocator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

FlightEvent allocation(Address address, std::uint64_t bytes, std::uint64_t requested,
                       Component tag = Component::activations) {
  return {.kind = FlightKind::allocate,
          .tag = tag,
          .address = address,
          .bytes = bytes,
          .requested = requested};
}
FlightEvent release(Address address, std::uint64_t bytes) {
  return {.kind = FlightKind::free, .address = address, .bytes = bytes, .requested = bytes};
}
FlightEvent other(FlightKind kind, Address address, std::uint64_t bytes) {
  return {.kind = kind, .address = address, .bytes = bytes, .requested = bytes};
}

TEST(Recording, an_event_is_read_as_it_was_written) {
  MemoryFile file;
  file.add_name("lm_head");
  const FlightEvent event{.kind = FlightKind::allocate,
                          .tag = Component::logits,
                          .stream = 3,
                          .name = 1,
                          .address = (std::uint64_t{1} << 47U) + 512,
                          .bytes = 3 * mib,
                          .requested = 3 * mib - 100};
  file.shard().note(event);
  const Recording recording = file.read();
  ASSERT_EQ(recording.events.size(), 1U);
  FlightEvent expected = event;
  expected.time_us = 10;
  EXPECT_EQ(recording.events[0], expected);
  EXPECT_EQ(recording.names, (std::vector<std::string>{"", "lm_head"}));
  EXPECT_EQ(recording.device, "Radeon");
  EXPECT_EQ(recording.pid, 4711U);
  EXPECT_EQ(recording.capacity_bytes, 64 * mib);
  EXPECT_FALSE(recording.closed);
}

TEST(Recording, numbers_that_do_not_fit_are_cut_and_not_wrapped) {
  MemoryFile file;
  FlightEvent event = allocation(4096, std::uint64_t{1} << 60U, 0);
  event.stream = 70000;
  file.shard().note(event);
  const FlightEvent read = file.read().events.at(0);
  EXPECT_EQ(read.bytes, (std::uint64_t{1} << 48U) - 1);
  EXPECT_EQ(read.requested, read.bytes - (mib - 1));
  EXPECT_EQ(read.stream, 65535U);
}

TEST(Recording, a_full_ring_keeps_the_last_events_and_counts_the_others) {
  MemoryFile file(1, 64);
  for (std::uint64_t i = 1; i <= 150; ++i) file.shard().note(allocation(i * 4096, 512, 512));
  const Recording recording = file.read();
  ASSERT_EQ(recording.events.size(), 64U);
  EXPECT_EQ(recording.events.front().address, 87 * 4096U);
  EXPECT_EQ(recording.events.back().address, 150 * 4096U);
  EXPECT_EQ(recording.lost, 86U);
  EXPECT_EQ(recording.torn + recording.damaged, 0U);
}

// Every place between two stores at which a writer can be killed.
TEST(Recording, a_record_that_was_not_finished_is_no_event) {
  for (const std::uint64_t written : {20U, 64U, 100U}) {
    MemoryFile file(1, 64);
    for (std::uint64_t i = 1; i <= written; ++i) file.shard().note(allocation(i * 4096, 512, 512));
    const std::size_t next = written % 64;
    const std::size_t whole = file.read().events.size();
    const std::size_t dropped = written >= 64 ? 1 : 0;
    const FlightWords words = to_words(allocation(999 * 4096, 512, 512), written, 10);
    file.record_word(next, 0) = 0;
    for (std::size_t word = 1; word < 4; ++word) {
      EXPECT_EQ(file.read().events.size(), whole - dropped) << written << " " << word;
      EXPECT_EQ(file.read().torn, dropped);
      file.record_word(next, word) = words[word];
    }
    EXPECT_EQ(file.read().events.back().address, written * 4096);
    file.record_word(next, 0) = words[0];  // Finished, and not counted.
    const Recording recording = file.read();
    EXPECT_EQ(recording.events.back().address, 999 * 4096U);
    EXPECT_EQ(recording.events.size(), whole + 1 - dropped);
    EXPECT_EQ(recording.torn + recording.damaged, 0U);
  }
}

TEST(Recording, a_record_that_does_not_belong_where_it_is_is_damaged) {
  MemoryFile file;
  for (std::uint64_t i = 1; i <= 10; ++i) file.shard().note(allocation(i * 4096, 512, 512));
  file.record_word(3, 0) ^= std::uint64_t{1} << 40U;     // Its number.
  file.record_word(5, 0) |= std::uint64_t{0xFF} << 24U;  // Its kind.
  file.record_word(6, 1) = ~std::uint64_t{0};            // Its address.
  const Recording recording = file.read();
  EXPECT_EQ(recording.damaged, 3U);
  EXPECT_EQ(recording.events.size(), 7U);
}

TEST(Recording, shards_are_merged_by_time) {
  MemoryFile file(2);
  file.shard(1).note(other(FlightKind::unmap, 2 * mib, 2 * mib));  // At 10.
  file.shard(0).note(other(FlightKind::map, 4 * mib, 2 * mib));    // At 20.
  file.shard(1).note(other(FlightKind::map, 6 * mib, 2 * mib));    // At 30.
  std::vector<Address> addresses;
  for (const FlightEvent& event : file.read().events) addresses.push_back(event.address);
  EXPECT_THAT(addresses, ElementsAre(2 * mib, 4 * mib, 6 * mib));
}

TEST(Recording, a_forked_child_writes_nothing) {
  MemoryFile file;
  file.shard().note(allocation(4096, 512, 512));
  file.stop();
  file.shard().note(allocation(8192, 512, 512));
  EXPECT_EQ(file.read().events.size(), 1U);
}

TEST(Recording, what_is_no_recording_is_refused_with_what_was_found) {
  MemoryFile file;
  const std::string good = file.bytes();
  EXPECT_FALSE(parse_flight_record(""));
  EXPECT_FALSE(parse_flight_record("a 1 512\n"));
  EXPECT_FALSE(parse_flight_record(good.substr(0, 100)));
  const auto cut = parse_flight_record(std::string_view(good).substr(0, good.size() - 1));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("of its"));
  file.header().version = 9;
  EXPECT_THAT(parse_flight_record(file.bytes()).error().message, HasSubstr("version 9"));
  file.header().version = 1;
  file.header().shard_records = 63;
  EXPECT_FALSE(parse_flight_record(file.bytes()));
  file.header().shard_records = std::uint64_t{1} << 63U;
  EXPECT_FALSE(parse_flight_record(good.substr(0, 8) + std::string(4088, '\xFF')));
}

std::string lines(const Trace& trace) {
  std::string text;
  for (const Event& event : trace.events) {
    const char kind = event.kind == EventKind::allocate ? 'a'
                      : event.kind == EventKind::free   ? 'f'
                                                        : 's';
    text += fmt::format("{}{}:{} ", kind, event.object, event.bytes);
  }
  return text;
}

TEST(RecordingTrace, allocations_and_frees_become_a_trace_of_what_was_asked_for) {
  MemoryFile file;
  file.shard().note(allocation(4096, 1024, 1000));
  file.shard().note(allocation(8192, 512, 500));
  file.shard().note(release(4096, 1024));
  file.shard().note(other(FlightKind::synchronize, 0, 0));
  file.shard().note(allocation(4096, 2048, 2000));
  const Trace trace = to_trace(file.read());
  EXPECT_EQ(lines(trace), "a0:1000 a1:500 f0:0 s0:0 a0:2000 ");
  EXPECT_EQ(trace.objects, 2U);
}

TEST(RecordingTrace, what_was_live_before_the_first_event_is_there_from_the_start) {
  MemoryFile file;
  file.shard().note(allocation(4096, 512, 512));
  file.shard().note(release(64 * kib, 8192));  // Allocated before the ring begins.
  file.shard().note(other(FlightKind::iteration, 7, 512 + 100 * kib));
  file.shard().note(release(128 * kib, 4096));  // So was this.
  file.shard().note(release(4096, 512));
  // 100 KiB were live besides the first block; 4 KiB of them are freed later.
  const Trace trace = to_trace(file.read());
  EXPECT_EQ(lines(trace), "a3:98304 a0:8192 a1:4096 a2:512 f0:0 f1:0 f2:0 ");
  ExactPolicy policy(UINT64_MAX);
  EXPECT_TRUE(replay(trace, policy).completed);
}

TEST(RecordingTrace, the_refusal_that_ended_the_program_is_an_allocation) {
  MemoryFile file;
  file.shard().note(allocation(4096, 512, 512));
  file.shard().note(other(FlightKind::refuse, 100, 9 * mib));
  EXPECT_EQ(lines(to_trace(file.read())), "a0:512 a1:9437184 ");
  file.shard().note(allocation(8192, 512, 512));  // It went on with less.
  EXPECT_EQ(lines(to_trace(file.read())), "a0:512 a1:512 ");
}

TEST(RecordingTrace, a_lost_free_is_made_up_for_where_its_memory_is_used_again) {
  MemoryFile file;
  file.shard().note(allocation(4096, 4096, 4096));
  file.shard().note(allocation(8192, 512, 512));
  file.shard().note(allocation(4096, 8192, 8192));  // Over both.
  EXPECT_EQ(lines(to_trace(file.read())), "a0:4096 a1:512 f0:0 f1:0 a1:8192 ");
}

TEST(RecordingHeap, is_what_is_live_after_the_last_event) {
  MemoryFile file;
  file.shard().note(other(FlightKind::map, 2 * mib, 4 * mib));
  file.shard().note(other(FlightKind::map, 6 * mib, 2 * mib));
  file.shard().note(allocation(2 * mib, mib, mib - 5));
  file.shard().note(other(FlightKind::iteration, 1, mib));
  file.shard().note(allocation(3 * mib, mib, mib));
  file.shard().note(allocation(4 * mib, mib, mib));
  file.shard().note(release(3 * mib, mib));
  FlightEvent retag = allocation(2 * mib, mib, mib, Component::gradients);
  retag.kind = FlightKind::retag;
  file.shard().note(retag);
  file.shard().note(other(FlightKind::unmap, 6 * mib, 2 * mib));
  file.shard().note(other(FlightKind::refuse, 0, 99 * mib));
  const HeapView view = heap_at_end(file.read());
  ASSERT_EQ(view.blocks.size(), 2U);
  EXPECT_EQ(view.blocks[0].tag, Component::gradients);
  EXPECT_EQ(view.blocks[0].requested_bytes, mib - 5);
  EXPECT_EQ(view.blocks[1].birth, 6U);
  ASSERT_EQ(view.spans.size(), 1U);
  EXPECT_EQ(view.spans[0].bytes, 4 * mib);
  EXPECT_EQ(view.usage.live_bytes, 2 * mib);
  EXPECT_EQ(view.usage.reserved_bytes, 4 * mib);
  ASSERT_EQ(view.free.size(), 2U);
  EXPECT_EQ(view.free[0].address, 3 * mib);
  EXPECT_EQ(view.free[1].address, 5 * mib);
  EXPECT_EQ(view.request.bytes, 99 * mib);
  EXPECT_THAT(view.iterations, ElementsAre(4U));
  EXPECT_EQ(view.spare_bytes, 60 * mib);
}

FlightEvent taken(FlightKind kind, Address address, std::uint64_t bytes, StreamId stream = 0) {
  FlightEvent event = other(kind, address, bytes);
  event.stream = stream;
  return event;
}

TEST(Recording, of_one_moment_the_devices_events_come_first) {
  MemoryFile file(2, 64, true);
  file.device().note(taken(FlightKind::map, 2 * mib, 2 * mib));
  file.shard().note(allocation(2 * mib, 512, 512));
  file.shard().note(allocation(2 * mib + 512, 512, 512));
  file.device().note(taken(FlightKind::map, 4 * mib, 2 * mib));
  file.shard().note(allocation(4 * mib, 512, 512));  // The clock's turn had not come.
  const Recording recording = file.read();
  std::vector<FlightKind> kinds;
  for (const FlightEvent& event : recording.events) kinds.push_back(event.kind);
  EXPECT_THAT(kinds, ElementsAre(FlightKind::map, FlightKind::allocate, FlightKind::allocate,
                                 FlightKind::map, FlightKind::allocate));
  EXPECT_GT(recording.events[4].time_us, recording.events[3].time_us);
  EXPECT_EQ(recording.events[2].time_us, recording.events[1].time_us);
}

TEST(Recording, says_whether_all_of_the_devices_events_are_there) {
  MemoryFile old(2, 4);
  EXPECT_EQ(old.read().device_events, DeviceEvents::none);
  MemoryFile file(2, 4, true);
  for (Address at : {2, 4, 6, 8}) file.device().note(taken(FlightKind::map, at * mib, 2 * mib));
  for (int i = 0; i < 9; ++i) file.shard().note(allocation(2 * mib, 512, 512));
  EXPECT_EQ(file.read().device_events, DeviceEvents::all);
  EXPECT_EQ(file.read().lost, 5U);
  file.device().note(taken(FlightKind::map, 10 * mib, 2 * mib));
  EXPECT_EQ(file.read().device_events, DeviceEvents::some);
  file.header().device_ring = 3;
  EXPECT_THAT(parse_flight_record(file.bytes()).error().message, HasSubstr("ring 3 of 2"));
}

TEST(RecordingHeap, stretches_of_one_stream_that_touch_are_one_and_plain_allocations_are_not) {
  MemoryFile file(2, 64, true);
  file.device().note(taken(FlightKind::map, 4 * mib, 2 * mib, 1));
  file.device().note(taken(FlightKind::map, 8 * mib, 2 * mib, 1));
  file.device().note(taken(FlightKind::map, 6 * mib, 2 * mib, 1));  // Between the two.
  file.device().note(taken(FlightKind::map, 10 * mib, 2 * mib, 2));
  file.device().note(taken(FlightKind::segment_allocate, 12 * mib, 2 * mib, 2));
  file.device().note(taken(FlightKind::segment_allocate, 14 * mib, 2 * mib, 2));
  file.device().note(taken(FlightKind::unmap, 4 * mib, 2 * mib, 1));
  file.device().note(taken(FlightKind::segment_free, 14 * mib, 2 * mib, 2));
  const HeapView view = heap_at_end(file.read());
  std::string spans;
  for (const DeviceSpan& span : view.spans)
    spans += fmt::format("{}+{}:{}{} ", span.address / mib, span.bytes / mib, span.stream,
                         span.pages ? "p" : "");
  EXPECT_EQ(spans, "6+4:1p 10+2:2p 12+2:2 ");
}

std::string tiling_fault(const Snapshot& snapshot) {
  Address last_end = 0;
  for (const SnapshotSegment& segment : snapshot.segments) {
    if (segment.address < last_end) return "segments overlap";
    Address at = segment.address;
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.address != at) return "a block does not follow the one below";
      at += block.size_bytes;
    }
    if (at != segment.address + segment.total_bytes) return "a segment is not tiled";
    last_end = at;
  }
  return "";
}

TEST(RecordingSnapshot, has_segments_that_blocks_tile_and_pytorchs_words) {
  MemoryFile file;
  file.add_name("lm_head");
  file.shard().note(other(FlightKind::map, 2 * mib, 4 * mib));
  FlightEvent logits = allocation(3 * mib, mib, mib - 5, Component::logits);
  logits.name = 1;
  file.shard().note(logits);
  file.shard().note(allocation(9 * mib, mib, mib));  // On pages that were mapped before the ring.
  file.shard().note(allocation(4 * mib, mib, mib));
  file.shard().note(release(4 * mib, mib));
  file.shard().note(other(FlightKind::iteration, 1, mib));
  file.shard().note(other(FlightKind::refuse, 3 * mib, 99 * mib));
  const Snapshot snapshot = to_snapshot(file.read());
  EXPECT_EQ(tiling_fault(snapshot), "");
  ASSERT_EQ(snapshot.segments.size(), 2U);
  EXPECT_TRUE(snapshot.segments[0].expandable);
  ASSERT_EQ(snapshot.segments[0].blocks.size(), 3U);
  EXPECT_EQ(snapshot.segments[0].blocks[1].requested_bytes, mib - 5);
  EXPECT_EQ(snapshot.segments[0].blocks[1].owner, (SnapshotOwner{Component::logits, 1}));
  EXPECT_EQ(snapshot.segments[1].address, 8 * mib);
  EXPECT_EQ(snapshot.segments[1].total_bytes, 2 * mib);
  EXPECT_EQ(snapshot.names[1], "lm_head");
  std::vector<SnapshotAction> actions;
  for (const SnapshotEvent& event : snapshot.events) actions.push_back(event.action);
  EXPECT_THAT(actions,
              ElementsAre(SnapshotAction::segment_map, SnapshotAction::alloc, SnapshotAction::alloc,
                          SnapshotAction::alloc, SnapshotAction::free_requested,
                          SnapshotAction::free_completed, SnapshotAction::oom));
  EXPECT_EQ(snapshot.events[1].bytes, mib - 5);
  EXPECT_EQ(snapshot.events[0].time_us, 1000010U);
}

TEST(RecordingSnapshot, what_other_streams_still_use_awaits_its_free) {
  HeapView view;
  view.spans = {{2 * mib, 2 * mib, 0, true}};
  view.blocks = {{.address = 2 * mib, .bytes = mib, .requested_bytes = mib}};
  view.free = {{3 * mib, mib, 5, true}};
  const Snapshot snapshot = to_snapshot(view, {}, {}, 0);
  EXPECT_EQ(tiling_fault(snapshot), "");
  EXPECT_EQ(snapshot.segments[0].blocks[1].state, SnapshotBlockState::active_awaiting_free);
}

// Any sequence of events at all, such as a damaged ring holds.
RC_GTEST_PROP(Recording, whatever_the_events_the_conversions_hold_their_promises, ()) {
  MemoryFile file(2, 32);
  const auto count = *rc::gen::inRange(0, 120);
  for (int i = 0; i < count; ++i) {
    FlightEvent event;
    event.kind = static_cast<FlightKind>(*rc::gen::inRange(1, last_flight_kind + 1));
    event.address = *rc::gen::inRange<std::uint64_t>(0, 40) * 512 * kib;
    event.bytes = *rc::gen::inRange<std::uint64_t>(0, 12) * 512 * kib;
    event.requested = event.bytes;
    file.shard(static_cast<std::size_t>(*rc::gen::inRange(0, 2))).note(event);
  }
  const Recording recording = file.read();
  const Trace trace = to_trace(recording);
  ExactPolicy policy(UINT64_MAX);
  RC_ASSERT(replay(trace, policy).completed);
  RC_ASSERT(tiling_fault(to_snapshot(recording)) == "");
}

}  // namespace
}  // namespace headroom::allocator

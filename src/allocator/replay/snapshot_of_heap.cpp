// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/snapshot_of_heap.h"

#include <algorithm>
#include <utility>

#include "allocator/backend.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };

SnapshotBlock to_block(const LiveBlock& live) {
  return {.address = live.address,
          .size_bytes = live.bytes,
          .requested_bytes = live.requested_bytes,
          .state = SnapshotBlockState::active_allocated,
          .owner = {live.tag, live.name}};
}

// Returns the blocks, and the free pieces that other streams still use, in the order of address.
std::vector<SnapshotBlock> blocks_of(const HeapView& view) {
  std::vector<SnapshotBlock> blocks;
  blocks.reserve(view.blocks.size());
  for (const LiveBlock& live : view.blocks) blocks.push_back(to_block(live));
  for (const FreePiece& piece : view.free) {
    if (piece.pending)
      blocks.push_back({.address = piece.address,
                        .size_bytes = piece.bytes,
                        .requested_bytes = piece.bytes,
                        .state = SnapshotBlockState::active_awaiting_free});
  }
  std::sort(blocks.begin(), blocks.end(), by_address);
  return blocks;
}

// Segments in the order of address. In a damaged recording, blocks may lie outside all spans or
// beyond the end of one; then the segment is extended to hold them.
class SegmentList {
 public:
  void add(const DeviceSpan& span) {
    const Address end = span.address + span.bytes;
    if (!segments_.empty() && solid_end_ > span.address) return extend(end);
    trim(span.address);
    segments_.push_back({.address = span.address,
                         .total_bytes = span.bytes,
                         .stream = span.stream,
                         .expandable = span.pages});
    solid_end_ = end;
  }
  void add(const SnapshotBlock& block) {
    const Address end = block.address + block.size_bytes;
    if (segments_.empty() || block.address >= back_end()) {
      const Address below = segments_.empty() ? 0 : back_end();
      const Address first = std::max(round_down(block.address, page_bytes), below);
      const Address last = round_up(end, page_bytes);
      segments_.push_back({.address = first, .total_bytes = last - first, .expandable = true});
      solid_end_ = end;
    } else {
      extend(end);
    }
  }
  std::vector<SnapshotSegment> take() { return std::move(segments_); }

 private:
  Address back_end() const { return segments_.back().address + segments_.back().total_bytes; }
  void extend(Address end) {
    solid_end_ = std::max(solid_end_, end);
    if (solid_end_ > back_end())
      segments_.back().total_bytes = solid_end_ - segments_.back().address;
  }
  // Shortens the last segment to make room for a span, as far as it is only the rest of a page.
  void trim(Address begin) {
    if (!segments_.empty() && back_end() > begin)
      segments_.back().total_bytes = begin - segments_.back().address;
  }

  std::vector<SnapshotSegment> segments_;
  Address solid_end_ = 0;  // The end of what is known to be in the last one.
};

// Makes segments of the view's spans, and of whole pages around blocks that lie in no span.
std::vector<SnapshotSegment> segments_of(const HeapView& view,
                                         const std::vector<SnapshotBlock>& blocks) {
  std::vector<DeviceSpan> spans = view.spans;
  std::sort(spans.begin(), spans.end(), by_address);
  SegmentList segments;
  auto span = spans.begin();
  for (const SnapshotBlock& block : blocks) {
    for (; span != spans.end() && span->address <= block.address; ++span) segments.add(*span);
    segments.add(block);
  }
  for (; span != spans.end(); ++span) segments.add(*span);
  return segments.take();
}

void add_gap(SnapshotSegment& segment, Address begin, Address end) {
  if (begin < end) segment.blocks.push_back({.address = begin, .size_bytes = end - begin});
}

// Puts the blocks into the segments and free bytes between them.
void tile(std::vector<SnapshotSegment>& segments, const std::vector<SnapshotBlock>& blocks) {
  auto block = blocks.begin();
  for (SnapshotSegment& segment : segments) {
    const Address end = segment.address + segment.total_bytes;
    Address at = segment.address;
    for (; block != blocks.end() && block->address < end; ++block) {
      add_gap(segment, at, block->address);
      segment.blocks.push_back(*block);
      at = block->address + block->size_bytes;
    }
    add_gap(segment, at, end);
  }
}

void add_event(std::vector<SnapshotEvent>& events, const FlightEvent& event,
               std::uint64_t start_unix_us) {
  SnapshotEvent made{.address = event.address,
                     .bytes = event.bytes,
                     .stream = event.stream,
                     .time_us = start_unix_us + event.time_us,
                     .owner = {event.tag, event.name}};
  const auto add = [&](SnapshotAction action) {
    made.action = action;
    events.push_back(made);
  };
  switch (event.kind) {
    case FlightKind::allocate:
      made.bytes = event.requested;
      return add(SnapshotAction::alloc);
    case FlightKind::free:
      made.bytes = event.requested;
      add(SnapshotAction::free_requested);
      return add(SnapshotAction::free_completed);
    case FlightKind::segment_allocate:
      return add(SnapshotAction::segment_alloc);
    case FlightKind::segment_free:
      return add(SnapshotAction::segment_free);
    case FlightKind::map:
      return add(SnapshotAction::segment_map);
    case FlightKind::unmap:
      return add(SnapshotAction::segment_unmap);
    case FlightKind::refuse:
      return add(SnapshotAction::oom);
    case FlightKind::retag:
    case FlightKind::synchronize:
    case FlightKind::repair:
    case FlightKind::iteration:
      return;
  }
}

}  // namespace

Snapshot to_snapshot(const HeapView& view, const std::vector<FlightEvent>& events,
                     const std::vector<std::string>& names, std::uint64_t start_unix_us) {
  Snapshot snapshot;
  const std::vector<SnapshotBlock> blocks = blocks_of(view);
  snapshot.segments = segments_of(view, blocks);
  tile(snapshot.segments, blocks);
  for (const FlightEvent& event : events) add_event(snapshot.events, event, start_unix_us);
  snapshot.names = names;
  if (snapshot.names.empty()) snapshot.names.emplace_back();
  return snapshot;
}

Snapshot to_snapshot(const Recording& recording) {
  return to_snapshot(heap_at_end(recording), recording.events, recording.names,
                     recording.start_unix_us);
}

}  // namespace headroom::allocator

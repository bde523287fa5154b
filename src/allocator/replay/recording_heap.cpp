// SPDX-License-Identifier: Apache-2.0
// The state of the heap after the last event of a recording.
#include <algorithm>
#include <map>

#include "allocator/replay/recording.h"

namespace headroom::allocator {
namespace {

// Stretches of addresses. Adjacent plain allocations stay apart; adjacent pages are merged.
class Stretches {
 public:
  void add(Address address, std::uint64_t bytes, StreamId stream, bool pages) {
    remove(address, bytes);  // Its earlier release was lost.
    if (bytes == 0) return;
    DeviceSpan added{address, bytes, stream, pages};
    auto after = spans_.lower_bound(address);
    if (after != spans_.begin() && joins(std::prev(after)->second, added)) {
      const auto before = std::prev(after);
      added.address = before->second.address;
      added.bytes += before->second.bytes;
      spans_.erase(before);
    }
    if (after != spans_.end() && joins(added, after->second)) {
      added.bytes += after->second.bytes;
      spans_.erase(after);
    }
    spans_[added.address] = added;
  }
  void remove(Address address, std::uint64_t bytes) {
    const Address end = address + bytes;
    auto span = spans_.upper_bound(address);
    if (span != spans_.begin()) --span;
    while (span != spans_.end() && span->first < end) {
      const DeviceSpan old = span->second;
      if (old.address + old.bytes <= address) {
        ++span;
        continue;
      }
      span = spans_.erase(span);
      if (old.address < address) put(old, old.address, address);
      if (old.address + old.bytes > end) put(old, end, old.address + old.bytes);
    }
  }
  std::vector<DeviceSpan> take() const {
    std::vector<DeviceSpan> spans;
    for (const auto& [address, span] : spans_) spans.push_back(span);
    return spans;
  }

 private:
  static bool joins(const DeviceSpan& below, const DeviceSpan& above) {
    return below.pages && above.pages && below.stream == above.stream &&
           below.address + below.bytes == above.address;
  }
  void put(DeviceSpan span, Address begin, Address end) {
    span.address = begin;
    span.bytes = end - begin;
    spans_[begin] = span;
  }

  std::map<Address, DeviceSpan> spans_;
};

using LiveBlocks = std::map<Address, LiveBlock>;

// Ends blocks that the new block overlaps: their memory was reused, so their frees were lost.
void end_overlapped(LiveBlocks& live, Address begin, Address end) {
  auto block = live.lower_bound(begin);
  if (block != live.begin() && std::prev(block)->first + std::prev(block)->second.bytes > begin)
    --block;
  while (block != live.end() && block->first < end) block = live.erase(block);
}

void note_block(LiveBlocks& live, const FlightEvent& event, std::uint64_t number) {
  if (event.kind == FlightKind::free) live.erase(event.address);
  const auto block = live.find(event.address);
  if (event.kind == FlightKind::retag && block != live.end()) {
    block->second.tag = event.tag;
    block->second.name = event.name;
  }
  if (event.kind != FlightKind::allocate) return;
  end_overlapped(live, event.address, event.address + std::max<std::uint64_t>(event.bytes, 1));
  live[event.address] = {.address = event.address,
                         .bytes = event.bytes,
                         .requested_bytes = event.requested,
                         .birth = number,
                         .stream = event.stream,
                         .tag = event.tag,
                         .name = event.name};
}

void note_span(Stretches& spans, const FlightEvent& event) {
  if (event.kind == FlightKind::map || event.kind == FlightKind::segment_allocate)
    spans.add(event.address, event.bytes, event.stream, event.kind == FlightKind::map);
  if (event.kind == FlightKind::unmap || event.kind == FlightKind::segment_free)
    spans.remove(event.address, event.bytes);
}

// The parts of the spans that no block covers.
std::vector<FreePiece> free_between(const std::vector<DeviceSpan>& spans, const LiveBlocks& live) {
  std::vector<FreePiece> pieces;
  for (const DeviceSpan& span : spans) {
    const Address end = span.address + span.bytes;
    Address at = span.address;
    for (auto block = live.lower_bound(at); block != live.end() && block->first < end; ++block) {
      if (block->first > at) pieces.push_back({at, block->first - at, span.stream, false});
      at = std::max(at, block->first + block->second.bytes);
    }
    if (at < end) pieces.push_back({at, end - at, span.stream, false});
  }
  return pieces;
}

}  // namespace

HeapView heap_at_end(const Recording& recording) {
  HeapView view;
  view.capacity_bytes = recording.capacity_bytes;
  view.now = recording.events.size();
  LiveBlocks live;
  Stretches spans;
  std::uint64_t number = 0;
  for (const FlightEvent& event : recording.events) {
    ++number;
    note_block(live, event, number);
    note_span(spans, event);
    if (event.kind == FlightKind::iteration) view.iterations.push_back(number);
    if (event.kind == FlightKind::refuse)
      view.request = {event.bytes, event.tag, event.stream, event.name};
  }
  view.spans = spans.take();
  view.free = free_between(view.spans, live);
  for (const DeviceSpan& span : view.spans) view.usage.reserved_bytes += span.bytes;
  for (const auto& [address, block] : live) {
    view.blocks.push_back(block);
    view.usage.live[block.tag] += block.bytes;
    view.usage.live_bytes += block.bytes;
  }
  view.spare_bytes = view.capacity_bytes - std::min(view.capacity_bytes, view.usage.reserved_bytes);
  return view;
}

}  // namespace headroom::allocator

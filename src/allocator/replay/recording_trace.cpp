// SPDX-License-Identifier: Apache-2.0
// Converts a recording to a trace. A ring begins somewhere in the middle of a job, so what was live
// at that point has to be concluded from what follows.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "allocator/replay/recording.h"

namespace headroom::allocator {
namespace {

// Returns the frees whose allocations are not in the recording, in order.
std::vector<FlightEvent> allocated_before(const std::vector<FlightEvent>& events) {
  std::vector<FlightEvent> before;
  std::unordered_set<Address> live;
  for (const FlightEvent& event : events) {
    if (event.kind == FlightKind::allocate) live.insert(event.address);
    if (event.kind == FlightKind::free && live.erase(event.address) == 0) before.push_back(event);
  }
  return before;
}

class TraceMaker {
 public:
  void allocate(const FlightEvent& event) {
    // Blocks that this one overlaps have ended: their frees were lost.
    auto overlapped = blocks_.lower_bound(event.address);
    if (overlapped != blocks_.begin() && std::prev(overlapped)->second.end > event.address)
      --overlapped;
    const Address end = event.address + std::max<std::uint64_t>(event.bytes, 1);
    while (overlapped != blocks_.end() && overlapped->first < end)
      overlapped = end_block(overlapped);
    const std::uint32_t object = new_object();
    blocks_[event.address] = {end, event.bytes, object};
    live_bytes_ += event.bytes;
    trace_.events.push_back(
        {EventKind::allocate, event.tag, event.stream, object, event.requested});
  }
  void free(Address address) {
    if (const auto block = blocks_.find(address); block != blocks_.end()) end_block(block);
  }
  void refuse(const FlightEvent& event) {
    trace_.events.push_back(
        {EventKind::allocate, event.tag, event.stream, new_object(), event.bytes});
  }
  void synchronize(StreamId stream) {
    trace_.events.push_back({EventKind::synchronize, Component::other, stream, 0, 0});
  }
  // Adds memory that lives from before the first event until after the last one.
  void add_lasting(std::uint64_t bytes) {
    trace_.events.insert(trace_.events.begin(),
                         {EventKind::allocate, Component::other, 0, trace_.objects++, bytes});
  }

  std::uint64_t live_bytes() const { return live_bytes_; }
  Trace take() { return std::move(trace_); }

 private:
  struct Block {
    Address end = 0;
    std::uint64_t bytes = 0;
    std::uint32_t object = 0;
  };
  using Blocks = std::map<Address, Block>;

  std::uint32_t new_object() {
    if (unused_.empty()) return trace_.objects++;
    const std::uint32_t object = unused_.back();
    unused_.pop_back();
    return object;
  }
  Blocks::iterator end_block(Blocks::iterator block) {
    trace_.events.push_back({EventKind::free, Component::other, 0, block->second.object, 0});
    unused_.push_back(block->second.object);
    live_bytes_ -= block->second.bytes;
    return blocks_.erase(block);
  }

  Trace trace_;
  Blocks blocks_;
  std::vector<std::uint32_t> unused_;
  std::uint64_t live_bytes_ = 0;
};

// Finds the refusal after which the program allocated nothing more.
std::optional<std::size_t> fatal_refusal(const std::vector<FlightEvent>& events) {
  for (std::size_t i = events.size(); i-- > 0;) {
    if (events[i].kind == FlightKind::allocate) return std::nullopt;
    if (events[i].kind == FlightKind::refuse) return i;
  }
  return std::nullopt;
}

}  // namespace

Trace to_trace(const Recording& recording) {
  TraceMaker maker;
  for (const FlightEvent& event : allocated_before(recording.events)) maker.allocate(event);
  std::optional<std::uint64_t> unaccounted;
  const auto fatal = fatal_refusal(recording.events);
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const FlightEvent& event = recording.events[i];
    if (event.kind == FlightKind::allocate) maker.allocate(event);
    if (event.kind == FlightKind::free) maker.free(event.address);
    if (event.kind == FlightKind::synchronize) maker.synchronize(event.stream);
    if (event.kind == FlightKind::iteration && !unaccounted)
      unaccounted = event.bytes - std::min(event.bytes, maker.live_bytes());
    if (i == fatal) maker.refuse(event);
  }
  if (unaccounted.value_or(0) > 0) maker.add_lasting(*unaccounted);
  return maker.take();
}

}  // namespace headroom::allocator

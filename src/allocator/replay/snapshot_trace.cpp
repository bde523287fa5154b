// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/snapshot_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "allocator/models/torch_policy.h"
#include "allocator/places/segment.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t largest_shown = 10;

// No device has so much memory. The limit keeps sums of a hostile file's sizes within 64 bits.
constexpr std::uint64_t size_limit = std::uint64_t{1} << 46U;

constexpr std::uint64_t sum_limit = std::uint64_t{1} << 62U;

std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return std::min(a + b, sum_limit);
}

std::uint64_t granules(std::uint64_t bytes) {
  return round_up(std::max(bytes, std::uint64_t{1}), granule_bytes);
}

// A lone OOM is useful as well, because the segments tell what was live then.
bool is_history(const SnapshotEvent& event) {
  return event.action == SnapshotAction::alloc || event.action == SnapshotAction::free_completed ||
         event.action == SnapshotAction::oom;
}

bool takes_or_frees(const SnapshotEvent& event) {
  return event.action == SnapshotAction::alloc || event.action == SnapshotAction::free_completed;
}

class Converter {
 public:
  explicit Converter(const Snapshot& snapshot) : snapshot_(snapshot) {}

  Result<SnapshotTrace> run() {
    const auto& events = snapshot_.events;
    if (std::none_of(events.begin(), events.end(), is_history)) return no_history();
    for (const SnapshotEvent& event : events) {
      if (event.action != SnapshotAction::oom && event.bytes > size_limit)
        return Error{Errc::invalid,
                     fmt::format("an event of the snapshot is about {} bytes at once", event.bytes),
                     "take the snapshot again"};
    }
    find_end();
    find_live_at_start();
    for (std::size_t i = 0; i < end_; ++i) add(events[i]);
    if (most_live_bytes_ == sum_limit)
      return Error{Errc::invalid, "the snapshot has more memory live at once than any device has",
                   "take the snapshot again"};
    if (end_ < events.size()) add_refusal(events[end_]);
    return std::move(result_);
  }

 private:
  struct Live {
    std::uint32_t object = 0;
    std::uint64_t bytes = 0;
    SnapshotOwner owner;
  };
  struct Start {
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;
    SnapshotOwner owner;
  };

  Error no_history() const {
    std::string found =
        snapshot_.segments.empty()
            ? "the snapshot has no segments and no history"
            : fmt::format("the snapshot has {} segments and no history of allocations",
                          snapshot_.segments.size());
    return {Errc::invalid, std::move(found),
            "call torch.cuda.memory._record_memory_history() before the job, and "
            "torch.cuda.memory._dump_snapshot(\"FILE.pickle\") after it or when it fails; with "
            "headroom's "
            "allocator, run the job with HEADROOM_ALLOCATOR_RECORDINGS=FOLDER and replay the "
            "FOLDER/PID-gpuN.flight that it leaves, or a snapshot of that run"};
  }

  void find_end() {
    end_ = snapshot_.events.size();
    for (std::size_t i = end_; i > 0; --i) {
      if (snapshot_.events[i - 1].action != SnapshotAction::oom) continue;
      end_ = i - 1;
      break;
    }
  }

  void find_live_at_start() {
    std::map<std::uint64_t, Start> start;
    std::unordered_map<std::uint64_t, bool> in_use;  // As far as events have told.
    for (const SnapshotEvent& event : snapshot_.events) {
      if (!takes_or_frees(event)) continue;
      const auto [known, is_new] = in_use.try_emplace(event.address);
      if (event.action == SnapshotAction::free_completed && is_new)
        start[event.address] = {event.bytes, event.stream, event.owner};
      known->second = event.action == SnapshotAction::alloc;
    }
    for (const SnapshotSegment& segment : snapshot_.segments) {
      for (const SnapshotBlock& block : segment.blocks) {
        const bool active = block.state != SnapshotBlockState::inactive;
        if (!active || in_use.contains(block.address) || block.requested_bytes > size_limit)
          continue;
        start[block.address] = {block.requested_bytes, segment.stream, block.owner};
      }
    }
    for (const auto& [address, block] : start) {
      allocate(address, block.bytes, block.stream, block.owner);
      ++result_.live_at_start;
      result_.live_at_start_bytes += block.bytes;
    }
  }

  void add(const SnapshotEvent& event) {
    if (event.action == SnapshotAction::oom) ++ooms_;
    if (!takes_or_frees(event)) return;
    const auto live = live_.find(event.address);
    const bool frees = event.action == SnapshotAction::free_completed;
    // Two allocations without a free between them, or two frees in a row, show that events were
    // lost.
    if (frees == (live == live_.end())) ++result_.contradictions;
    if (live != live_.end()) release(live);
    if (!frees) allocate(event.address, event.bytes, event.stream, event.owner);
  }

  void allocate(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                SnapshotOwner owner) {
    std::uint32_t object = result_.trace.objects;
    if (unused_.empty()) {
      ++result_.trace.objects;
    } else {
      object = unused_.back();
      unused_.pop_back();
    }
    live_[address] = {object, bytes, owner};
    live_bytes_ += granules(bytes);
    most_live_bytes_ = std::max(most_live_bytes_, std::min(live_bytes_, sum_limit));
    result_.trace.events.push_back(
        {EventKind::allocate, owner.tag, number_of(stream), object, bytes});
  }

  void release(std::unordered_map<std::uint64_t, Live>::iterator live) {
    result_.trace.events.push_back({EventKind::free, Component::other, 0, live->second.object, 0});
    unused_.push_back(live->second.object);
    live_bytes_ -= granules(live->second.bytes);
    live_.erase(live);
  }

  // Numbers streams in the order in which they appear; the default stream is always 0.
  StreamId number_of(std::uint64_t handle) {
    if (handle == 0) return 0;
    return streams_.try_emplace(handle, static_cast<StreamId>(streams_.size() + 1)).first->second;
  }

  void add_refusal(const SnapshotEvent& event) {
    SnapshotOom oom;
    oom.refused_bytes = event.bytes;
    oom.device_free_bytes = std::min(event.address, size_limit);
    oom.live_bytes = live_bytes_;
    oom.reserved_bytes = reserved_at_end();
    oom.owner = event.owner;
    oom.earlier = ooms_;
    oom.later_allocations = static_cast<std::uint64_t>(std::count_if(
        snapshot_.events.begin() + static_cast<std::ptrdiff_t>(end_), snapshot_.events.end(),
        [](const SnapshotEvent& later) { return later.action == SnapshotAction::alloc; }));
    oom.largest = largest();
    result_.oom = std::move(oom);
    // It is never freed, since the trace ends here.
    result_.trace.events.push_back({EventKind::allocate, event.owner.tag, number_of(event.stream),
                                    result_.trace.objects++, event.bytes});
  }

  // Computes what was reserved at the refusal, backwards from the segments at the end.
  std::uint64_t reserved_at_end() const {
    std::uint64_t taken = 0;
    std::uint64_t given_back = 0;
    for (const SnapshotSegment& segment : snapshot_.segments)
      given_back = capped_sum(given_back, std::min(segment.total_bytes, size_limit));
    for (std::size_t i = end_; i < snapshot_.events.size(); ++i) {
      const SnapshotEvent& event = snapshot_.events[i];
      if (event.action == SnapshotAction::segment_alloc ||
          event.action == SnapshotAction::segment_map)
        taken = capped_sum(taken, event.bytes);
      if (event.action == SnapshotAction::segment_free ||
          event.action == SnapshotAction::segment_unmap)
        given_back = capped_sum(given_back, event.bytes);
    }
    return given_back > taken ? given_back - taken : 0;
  }

  std::vector<OwnedMemory> largest() const {
    std::map<std::pair<Component, std::uint32_t>, OwnedMemory> owners;
    for (const auto& [address, live] : live_) {
      OwnedMemory& owned = owners[{live.owner.tag, live.owner.name}];
      owned.owner = live.owner;
      ++owned.blocks;
      owned.bytes += live.bytes;
    }
    std::vector<OwnedMemory> sorted;
    for (const auto& [key, owned] : owners) sorted.push_back(owned);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const OwnedMemory& a, const OwnedMemory& b) { return a.bytes > b.bytes; });
    if (sorted.size() > largest_shown) sorted.resize(largest_shown);
    return sorted;
  }

  const Snapshot& snapshot_;
  SnapshotTrace result_;
  std::size_t end_ = 0;  // The OOM's index among the events, or their number.
  std::unordered_map<std::uint64_t, Live> live_;  // Keyed by address.
  std::vector<std::uint32_t> unused_;
  std::unordered_map<std::uint64_t, StreamId> streams_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t most_live_bytes_ = 0;
  std::uint64_t ooms_ = 0;
};

}  // namespace

bool SnapshotOom::limited_by_the_process() const {
  return refused_bytes <= size_limit && device_free_bytes >= torch_segment_bytes(refused_bytes);
}

Result<SnapshotTrace> to_trace(const Snapshot& snapshot) {
  return Converter(snapshot).run();
}

}  // namespace headroom::allocator

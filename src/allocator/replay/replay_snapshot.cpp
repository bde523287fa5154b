// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <vector>

#include "allocator/models/counting_device.h"
#include "allocator/replay/address_ranges.h"
#include "allocator/replay/replay_history.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t unit = CountingDevice::unit_bytes;

class Exporter {
 public:
  Exporter(const ReplayHistory& history, std::uint64_t capacity)
      : history_(history), capacity_(capacity) {}

  Snapshot run() {
    order_events();
    for (std::size_t event = 0; event < at_.size(); ++event) {
      const BlockLife* block = at_[event] == 0 ? nullptr : &history_.blocks[at_[event] - 1];
      const bool makes = block != nullptr && block->begin == event;
      if (makes) live_.emplace(block->address, block);
      if (block != nullptr && !makes) {
        live_.erase(block->address);
        add(SnapshotAction::free_requested, *block);
        add(SnapshotAction::free_completed, *block);
      }
      if (makes) map_units(*block);
      unmap_units(history_.held[event].reserved);
      if (makes) add(SnapshotAction::alloc, *block);
    }
    add_failure();
    add_segments();
    return std::move(snapshot_);
  }

 private:
  // Maps each event to the block that it made or freed, plus one; 0 stands for none.
  void order_events() {
    at_.resize(history_.held.size());
    for (std::size_t i = 0; i < history_.blocks.size(); ++i) {
      const BlockLife& block = history_.blocks[i];
      at_[block.begin] = i + 1;
      if (block.end != BlockLife::never) at_[block.end] = i + 1;
    }
  }

  void add(SnapshotAction action, const BlockLife& block) {
    snapshot_.events.push_back(
        {action, block.address, block.requested_bytes, block.stream, 0, {block.tag, 0}});
  }
  void add(SnapshotAction action, std::uint64_t begin, std::uint64_t end) {
    snapshot_.events.push_back({action, begin, end - begin, 0, 0, {}});
  }

  void map_units(const BlockLife& block) {
    mapped_.add(round_down(block.address, unit),
                round_up(block.address + std::max<std::uint64_t>(block.bytes, 1), unit),
                [this](std::uint64_t begin, std::uint64_t end) {
                  add(SnapshotAction::segment_map, begin, end);
                });
  }

  // If more is mapped than the policy holds, it gave units back or mapped them elsewhere. These had
  // no blocks in them; which ones they were is unknown, so the lowest are taken.
  void unmap_units(std::uint64_t reserved) {
    if (mapped_.bytes() <= reserved) return;
    std::uint64_t surplus = round_up(mapped_.bytes() - reserved, unit);
    for (const auto& [begin, end] : free_units()) {
      if (surplus == 0) return;
      const std::uint64_t taken = std::min(surplus, end - begin);
      mapped_.remove(begin, begin + taken);
      add(SnapshotAction::segment_unmap, begin, begin + taken);
      surplus -= taken;
    }
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> free_units() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> free;
    const auto note = [&free](std::uint64_t from, std::uint64_t to) {
      from = round_up(from, unit);
      to = round_down(to, unit);
      if (from < to) free.emplace_back(from, to);
    };
    auto block = live_.begin();
    for (const auto& [begin, end] : mapped_) {
      std::uint64_t at = begin;
      for (; block != live_.end() && block->first < end; ++block) {
        note(at, block->first);
        at = block->first + block->second->bytes;
      }
      note(at, end);
    }
    return free;
  }

  void add_failure() {
    if (!history_.result.failed_at) return;
    const std::uint64_t reserved = history_.result.usage.reserved_bytes;
    snapshot_.events.push_back({SnapshotAction::oom,
                                capacity_ > reserved ? capacity_ - reserved : 0,
                                history_.result.failed_bytes,
                                0,
                                0,
                                {}});
  }

  // Makes one segment of adjacent units, with free bytes between live blocks.
  void add_segments() {
    auto block = live_.begin();
    for (const auto& [begin, end] : mapped_) {
      SnapshotSegment& segment = snapshot_.segments.emplace_back();
      segment.address = begin;
      segment.total_bytes = end - begin;
      segment.expandable = true;
      std::uint64_t at = begin;
      for (; block != live_.end() && block->first < end; ++block) {
        const BlockLife& life = *block->second;
        add_free(segment, at, life.address);
        segment.blocks.push_back({life.address,
                                  life.bytes,
                                  life.requested_bytes,
                                  SnapshotBlockState::active_allocated,
                                  {life.tag, 0}});
        at = life.address + life.bytes;
      }
      add_free(segment, at, end);
    }
  }

  static void add_free(SnapshotSegment& segment, std::uint64_t from, std::uint64_t to) {
    if (from < to) segment.blocks.push_back({from, to - from, 0, SnapshotBlockState::inactive, {}});
  }

  const ReplayHistory& history_;
  std::uint64_t capacity_;
  std::vector<std::size_t> at_;
  std::map<std::uint64_t, const BlockLife*> live_;  // Keyed by address.
  AddressRanges mapped_;
  Snapshot snapshot_;
};

}  // namespace

Snapshot to_snapshot(const ReplayHistory& history, std::uint64_t capacity_bytes) {
  return Exporter(history, capacity_bytes).run();
}

}  // namespace headroom::allocator

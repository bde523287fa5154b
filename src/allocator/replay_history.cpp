// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay_history.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "allocator/counting_device.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t unit = CountingDevice::unit_bytes;

// Stands between a replay and its policy, and writes down what it sees.
class Watcher final : public Policy {
 public:
  explicit Watcher(Policy& policy) : policy_(&policy) {}

  std::optional<Address> allocate(const Request& request) override {
    const std::uint64_t before = policy_->usage().live_bytes;
    const auto address = policy_->allocate(request);
    if (address) {
      live_[*address] = history_.blocks.size();
      history_.blocks.push_back({*address, policy_->usage().live_bytes - before, request.bytes,
                                 history_.held.size(), BlockLife::never, request.stream,
                                 request.tag});
    }
    note();
    return address;
  }
  void free(Address address) override {
    policy_->free(address);
    const auto block = live_.find(address);
    if (block != live_.end()) {
      history_.blocks[block->second].end = history_.held.size();
      live_.erase(block);
    }
    note();
  }
  void retag(Address address, Component tag) override { policy_->retag(address, tag); }
  void synchronize(StreamId stream) override {
    policy_->synchronize(stream);
    note();
  }
  const Usage& usage() const override { return policy_->usage(); }
  std::string_view name() const override { return policy_->name(); }

  ReplayHistory take() { return std::move(history_); }

 private:
  void note() {
    const Usage& usage = policy_->usage();
    history_.held.push_back({usage.live_bytes, usage.reserved_bytes});
  }

  Policy* policy_;
  ReplayHistory history_;
  std::unordered_map<Address, std::size_t> live_;
};

class Exporter {
 public:
  Exporter(const ReplayHistory& history, std::uint64_t capacity)
      : history_(history), capacity_(capacity) {}

  Snapshot run() {
    order_events();
    for (std::size_t event = 0; event < at_.size(); ++event) {
      if (at_[event] == 0) continue;  // A synchronisation, which a snapshot has no event for.
      const BlockLife& block = history_.blocks[at_[event] - 1];
      if (block.begin == event) {
        map_units(block);
        add(SnapshotAction::alloc, block);
      } else {
        add(SnapshotAction::free_requested, block);
        add(SnapshotAction::free_completed, block);
      }
    }
    if (history_.result.failed_at) {
      const std::uint64_t reserved = history_.result.usage.reserved_bytes;
      snapshot_.events.push_back({SnapshotAction::oom,
                                  capacity_ > reserved ? capacity_ - reserved : 0,
                                  history_.result.failed_bytes,
                                  0,
                                  0,
                                  {}});
    }
    add_segments();
    return std::move(snapshot_);
  }

 private:
  // Event → the block that it made or freed, plus one; 0 is none.
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

  // The units that the block lies in and that no block was in before, as one event for each
  // stretch.
  void map_units(const BlockLife& block) {
    const std::uint64_t end =
        round_up(block.address + std::max<std::uint64_t>(block.bytes, 1), unit);
    std::uint64_t at = round_down(block.address, unit);
    std::uint64_t begin = at;
    auto mapped = mapped_.upper_bound(at);
    if (mapped != mapped_.begin() && std::prev(mapped)->second >= at) --mapped;
    std::uint64_t joined_end = end;
    while (mapped != mapped_.end() && mapped->first <= end) {
      add_mapping(at, mapped->first);
      at = std::max(at, mapped->second);
      begin = std::min(begin, mapped->first);
      joined_end = std::max(joined_end, mapped->second);
      mapped = mapped_.erase(mapped);
    }
    add_mapping(at, end);
    mapped_.emplace(begin, joined_end);
  }

  void add_mapping(std::uint64_t from, std::uint64_t to) {
    if (from < to)
      snapshot_.events.push_back({SnapshotAction::segment_map, from, to - from, 0, 0, {}});
  }

  // Units that lie side by side are one segment; between live blocks it is free.
  void add_segments() {
    for (const auto& [begin, end] : mapped_)
      snapshot_.segments.push_back({begin, end - begin, 0, true});
    std::vector<const BlockLife*> live;
    for (const BlockLife& block : history_.blocks)
      if (block.end == BlockLife::never) live.push_back(&block);
    std::sort(live.begin(), live.end(),
              [](const BlockLife* a, const BlockLife* b) { return a->address < b->address; });
    auto next = live.begin();
    for (SnapshotSegment& segment : snapshot_.segments) {
      std::uint64_t at = segment.address;
      const std::uint64_t end = segment.address + segment.total_bytes;
      for (; next != live.end() && (*next)->address < end; ++next) {
        add_free(segment, at, (*next)->address);
        segment.blocks.push_back({(*next)->address,
                                  (*next)->bytes,
                                  (*next)->requested_bytes,
                                  SnapshotBlockState::active_allocated,
                                  {(*next)->tag, 0}});
        at = (*next)->address + (*next)->bytes;
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
  std::map<std::uint64_t, std::uint64_t> mapped_;  // Where a stretch begins → where it ends.
  Snapshot snapshot_;
};

}  // namespace

ReplayHistory replay_with_history(const Trace& trace, Policy& policy) {
  Watcher watcher(policy);
  ReplayResult result = replay(trace, watcher);
  ReplayHistory history = watcher.take();
  history.result = result;
  return history;
}

Snapshot to_snapshot(const ReplayHistory& history, std::uint64_t capacity_bytes) {
  return Exporter(history, capacity_bytes).run();
}

}  // namespace headroom::allocator

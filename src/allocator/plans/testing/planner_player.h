// SPDX-License-Identifier: Apache-2.0
// For tests: a job on a planner and a core, as a shard would serve it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/plans/planner.h"

namespace headroom::allocator {

// Uses a planner as a shard does.
class Player {
 public:
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;
    std::optional<std::uint32_t> slot;
    SegmentId segment = no_segment;
  };

  Player(Core& core, Executor executor) : core_(core), planner_(core, std::move(executor)) {}

  std::size_t allocate(std::uint64_t bytes, StreamId stream = 0) {
    Block block;
    block.bytes = bytes;
    if (const auto slot = planner_.take(bytes, stream)) {
      block.address = slot->address;
      block.slot = slot->number;
    } else {
      block.segment = core_.find_ready(bytes, stream);
      if (block.segment == no_segment) block.segment = core_.find(bytes, stream);
      if (block.segment == no_segment && planner_.has_plan()) {
        break_up();
        block.segment = core_.find(bytes, stream);
      }
      EXPECT_NE(block.segment, no_segment);
      if (block.segment != no_segment) block.address = core_.segment(block.segment).address;
    }
    block.number = planner_.note_allocate(bytes, stream);
    blocks_[++next_] = block;
    return next_;
  }
  void free(std::size_t id) {
    const Block block = blocks_.at(id);
    blocks_.erase(id);
    planner_.note_free(block.number, block.bytes);
    if (block.slot)
      planner_.give_back(*block.slot);
    else if (block.segment != no_segment)
      core_.release(block.segment);
  }
  void break_up() {
    std::map<std::uint32_t, SegmentId> moved;
    for (const Planner::Moved& each : planner_.break_up()) moved[each.slot] = each.segment;
    for (auto& [id, block] : blocks_) {
      if (!block.slot) continue;
      ASSERT_EQ(moved.count(*block.slot), 1U);
      block.segment = moved[*block.slot];
      moved.erase(*block.slot);
      block.slot.reset();
      EXPECT_EQ(core_.segment(block.segment).address, block.address);
      EXPECT_EQ(core_.segment(block.segment).bytes, block.bytes);
      EXPECT_EQ(core_.segment(block.segment).state, SegmentState::used);
    }
    EXPECT_TRUE(moved.empty());
  }

  static constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

  // Plays a step of 48 blocks with activations of `unit` bytes; `middle` runs at its peak.
  void step(std::uint64_t unit = mib, const std::function<void()>& middle = {}) {
    std::vector<std::size_t> live;
    for (int i = 0; i < 16; ++i) {
      live.push_back(allocate(unit * (1 + static_cast<std::uint64_t>(i) % 3)));
      free(allocate(unit));
    }
    if (middle) middle();
    for (int i = 0; i < 16; ++i) {
      free(allocate(2 * unit));
      free(live.back());
      live.pop_back();
    }
  }
  void load() {
    for (int i = 0; i < 4; ++i) allocate(2 * mib);
  }

  Planner& planner() { return planner_; }
  const PlanCounts& counts() const { return planner_.counts(); }

 private:
  Core& core_;
  Planner planner_;
  std::map<std::size_t, Block> blocks_;
  std::size_t next_ = 0;
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// For tests: a core that only keeps records.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "allocator/places/core.h"

namespace headroom::allocator {

// Has endless memory, or none, and counts a miss when it is told to.
class ScriptedCore final : public Core {
 public:
  explicit ScriptedCore(bool breaks_up_well) : breaks_up_well_(breaks_up_well) {}

  SegmentId find_ready(std::uint64_t /*bytes*/, StreamId /*stream*/) override { return no_segment; }
  SegmentId find(std::uint64_t bytes, StreamId stream) override {
    finds.push_back(bytes);
    if (refuses) return no_segment;
    Segment segment;
    segment.address = next_address_;
    segment.bytes = bytes;
    segment.stream = stream;
    segment.state = SegmentState::used;
    next_address_ += bytes;
    used.insert(segment.address);
    return segments_.create(segment);
  }
  SegmentId find_new(std::uint64_t bytes, StreamId stream) override { return find(bytes, stream); }
  void release(SegmentId id) override {
    EXPECT_EQ(used.erase(segments_[id].address), 1U);
    segments_.destroy(id);
  }
  void publish(StreamId /*stream*/) override {}
  std::vector<SegmentId> carve_up(SegmentId block,
                                  const std::vector<Tiling::Piece>& pieces) override {
    const Segment whole = segments_[block];
    used.erase(whole.address);
    segments_.destroy(block);
    std::vector<SegmentId> made;
    std::uint64_t at = whole.address;
    for (const Tiling::Piece& piece : pieces) {
      EXPECT_GE(piece.address, at);
      at = piece.address + piece.bytes;
      Segment segment = whole;
      segment.address = piece.address;
      segment.bytes = piece.bytes;
      used.insert(segment.address);
      made.push_back(segments_.create(segment));
    }
    EXPECT_LE(at, whole.end());
    return made;
  }
  bool breaks_up_well() const override { return breaks_up_well_; }
  bool is_at_ease() const override { return at_ease; }
  void note_iteration() override { ++iterations; }
  std::uint64_t give_up(std::uint64_t /*bytes*/) override { return 0; }
  const std::vector<const Tiling*>& tilings() const override { return tilings_; }
  void listen(const Tiling::RangeListener& /*listener*/) override {}
  std::string broken_invariant() const override { return ""; }

  std::uint64_t pages_to_move(std::uint64_t /*bytes*/, StreamId /*stream*/) override {
    return to_move;
  }

  void miss(std::uint64_t pages = 0) {
    ++counts_.repairs;
    counts_.moved_pages += pages;
  }

  std::vector<std::uint64_t> finds;  // The sizes that were asked for.
  std::set<std::uint64_t> used;
  std::uint64_t to_move = 0;  // What pages_to_move() answers.
  bool refuses = false;
  bool at_ease = false;
  std::uint64_t iterations = 0;  // As the planner told.

 private:
  bool breaks_up_well_;
  std::uint64_t next_address_ = std::uint64_t{1} << 32U;
  std::vector<const Tiling*> tilings_;
};

}  // namespace headroom::allocator

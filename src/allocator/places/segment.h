// SPDX-License-Identifier: Apache-2.0
// The allocator's metadata, which is kept apart from the memory that it describes: every address
// range is a list of segments that tile it. A segment is a block in use, free bytes, or a hole with
// no pages behind it. Segments refer to each other by index, so that the table can grow.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allocator/component.h"
#include "allocator/policy.h"

namespace headroom::allocator {

using SegmentId = std::uint32_t;
inline constexpr SegmentId no_segment = std::numeric_limits<SegmentId>::max();

// The stream of free bytes that no queued work can touch any more; any stream may use them.
inline constexpr StreamId any_stream = std::numeric_limits<StreamId>::max();

inline constexpr std::uint64_t granule_bytes = 512;

// The Segment::heap of blocks in a planned piece. They are in no tiling, because the piece itself
// is one used segment of a tiling.
inline constexpr std::uint8_t planned_heap = 255;

enum class SegmentState : std::uint8_t { used, free, hole };

// One line of the cache.
struct alignas(64) Segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t birth = 0;      // Used: the number of its allocation.
  SegmentId prev = no_segment;  // Neighbours by address, within the range.
  SegmentId next = no_segment;
  SegmentId left = no_segment;  // Children in the treap of its FreeIndex.
  SegmentId right = no_segment;
  std::uint32_t range = 0;
  // Used: its stream. Free: the one whose queued work may still touch it.
  StreamId stream = any_stream;
  SegmentState state = SegmentState::hole;
  Component tag = Component::other;
  std::uint8_t heap = 0;       // Which of the core's tilings it is in.
  bool is_shared = false;      // Used: other streams use it as well.
  NameId name = 0;             // Used: the tensor's name.
  std::uint16_t rounding = 0;  // Used: bytes that were not asked for.

  std::uint64_t end() const { return address + bytes; }
};
static_assert(sizeof(Segment) == 64);

class SegmentTable {
 public:
  Segment& operator[](SegmentId id) { return segments_[id]; }
  const Segment& operator[](SegmentId id) const { return segments_[id]; }

  // The order in which free segments are taken: the smallest first, and the lowest of equals.
  bool before(SegmentId a, SegmentId b) const {
    const Segment& left = segments_[a];
    const Segment& right = segments_[b];
    return left.bytes != right.bytes ? left.bytes < right.bytes : left.address < right.address;
  }

  SegmentId create(const Segment& segment) {
    if (unused_.empty()) {
      segments_.push_back(segment);
      return static_cast<SegmentId>(segments_.size() - 1);
    }
    const SegmentId id = unused_.back();
    unused_.pop_back();
    segments_[id] = segment;
    return id;
  }

  // The same as create() with what is there already.
  SegmentId copy(SegmentId id) {
    if (unused_.empty()) return create(Segment(segments_[id]));
    const SegmentId made = unused_.back();
    unused_.pop_back();
    segments_[made] = segments_[id];
    return made;
  }

  void destroy(SegmentId id) { unused_.push_back(id); }

 private:
  std::vector<Segment> segments_;
  std::vector<SegmentId> unused_;
};

}  // namespace headroom::allocator

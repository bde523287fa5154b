// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/plain_heap.h"

namespace headroom::allocator {

SegmentId PlainHeap::add(std::uint64_t bytes, StreamId stream) {
  const auto address = pool_->allocate(bytes, stream);
  if (!address) return no_segment;
  return ranges_[add_range(*address, bytes, SegmentState::free, stream)].first;
}

bool PlainHeap::is_idle(SegmentId id) const {
  const Segment& segment = (*segments_)[id];
  return segment.state == SegmentState::free && segment.stream == any_stream &&
         segment.bytes == ranges_[segment.range].bytes;
}

std::uint64_t PlainHeap::release_range(SegmentId idle) {
  const Segment segment = (*segments_)[idle];
  const StreamId stream = ranges_[segment.range].stream;
  if (!pool_->release(segment.address, segment.bytes, stream)) return 0;
  remove_range(segment.range);
  return segment.bytes;
}

SegmentId PlainHeap::idle_for(std::uint64_t bytes) const {
  const FreeIndex& free = *free_.front().segments;
  const auto idle = [&](SegmentId id) { return is_idle(id); };
  const SegmentId enough = free.first_from(bytes, idle);
  return enough != no_segment ? enough : free.last_that(idle);
}

void PlainHeap::release_all() {
  for (const Range& range : ranges_) {
    if (range.bytes > 0) static_cast<void>(pool_->release(range.address, range.bytes));
  }
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/plain_core.h"

#include <algorithm>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// Blocks up to this size are packed together, so that they do not pin large allocations.
constexpr std::uint64_t small_bytes = std::uint64_t{256} << 10U;
constexpr std::uint64_t small_chunk = page_bytes;
constexpr std::uint64_t medium_chunk = std::uint64_t{32} << 20U;
// A block has an allocation of its own from this size on, or if rounding it to 2 MiB wastes no more
// than 1/own_waste of it.
constexpr std::uint64_t own_bytes = std::uint64_t{16} << 20U;
constexpr std::uint64_t own_waste = 64;
// A block reuses an idle allocation only if the rest is at most 1/reuse_waste of the block, or a
// page.
constexpr std::uint64_t reuse_waste = 8;
// All allocations together may hold 1/idle_part more than was ever in use at once.
constexpr std::uint64_t idle_part = 2;

}  // namespace

PlainCore::PlainCore(DevicePool& pool)
    : pool_(&pool),
      heaps_{PlainHeap(small, segments_, pool), PlainHeap(medium, segments_, pool),
             PlainHeap(own, segments_, pool)},
      tilings_{&heaps_[small], &heaps_[medium], &heaps_[own]} {}

PlainCore::~PlainCore() {
  for (PlainHeap& heap : heaps_) heap.release_all();
}

PlainCore::Kind PlainCore::kind_of(std::uint64_t bytes) {
  if (bytes <= small_bytes) return small;
  const std::uint64_t waste = round_up(bytes, page_bytes) - bytes;
  return bytes >= own_bytes || waste <= bytes / own_waste ? own : medium;
}

SegmentId PlainCore::take_ready(Kind kind, std::uint64_t bytes, StreamId stream) {
  PlainHeap& heap = heaps_[kind];
  const SegmentId free = heap.best_fit(bytes, stream);
  if (free == no_segment) return no_segment;
  if (kind != own) return heap.carve(free, bytes);
  if (segments_[free].bytes - bytes > std::max(page_bytes, bytes / reuse_waste)) return no_segment;
  return heap.carve(free, bytes);
}

SegmentId PlainCore::find_ready(std::uint64_t bytes, StreamId stream) {
  return take_ready(kind_of(bytes), bytes, stream);
}

SegmentId PlainCore::take_new(Kind kind, std::uint64_t bytes, StreamId stream) {
  const std::uint64_t least = round_up(bytes, page_bytes);
  std::uint64_t wanted = least;
  if (kind == small) wanted = std::max(least, small_chunk);
  if (kind == medium) wanted = std::max(least, medium_chunk);
  SegmentId made = heaps_[kind].add(wanted, stream);
  if (made == no_segment && wanted > least) made = heaps_[kind].add(least, stream);
  if (made == no_segment) return no_segment;
  ++counts_.growths;
  return heaps_[kind].carve(made, bytes);
}

// Gives idle allocations back when there are too many: otherwise a job with varying sequence
// lengths would hold several times what it uses, in allocations that fit no request any more.
void PlainCore::limit_idle(std::uint64_t bytes) {
  const std::uint64_t idle = heaps_[own].bytes_in(SegmentState::free);
  const std::uint64_t used = heaps_[own].bytes_in(SegmentState::used);
  used_peak_ = std::max(used_peak_, used + bytes);
  const std::uint64_t most = used_peak_ + used_peak_ / idle_part;
  if (used + idle + bytes <= most) return;
  wait_for_streams();
  static_cast<void>(flush(std::min(used + idle + bytes - most, idle)));
}

SegmentId PlainCore::find(std::uint64_t bytes, StreamId stream) {
  const Kind kind = kind_of(bytes);
  if (kind == own) limit_idle(bytes);
  SegmentId found = take_new(kind, bytes, stream);
  if (found != no_segment) {
    limit_private_streams(heaps_[kind], *pool_);
    return found;
  }
  // Waiting costs little here, since giving plain memory back synchronises anyway. What the wait
  // freed may already serve the request, and limit_idle() may have waited before.
  wait_for_streams();
  found = take_ready(kind, bytes, stream);
  if (found == no_segment) {
    const std::uint64_t needed = round_up(bytes, page_bytes);
    const std::uint64_t spare = pool_->spare() * page_bytes;
    static_cast<void>(flush(spare < needed ? needed - spare : needed));
    found = take_new(kind, bytes, stream);
    // If other processes hold part of the device, it refuses before the capacity is reached.
    while (found == no_segment && flush(needed) > 0) found = take_new(kind, bytes, stream);
  }
  return found != no_segment ? found : take_anywhere(bytes, stream);
}

SegmentId PlainCore::find_new(std::uint64_t bytes, StreamId stream) {
  const SegmentId found = take_new(kind_of(bytes), bytes, stream);
  return found != no_segment ? found : take_anywhere(bytes, stream);
}

// When the device has nothing left, uses free memory of the other kinds.
SegmentId PlainCore::take_anywhere(std::uint64_t bytes, StreamId stream) {
  for (PlainHeap& heap : heaps_) {
    const SegmentId free = heap.best_fit(bytes, stream);
    if (free != no_segment) return heap.carve(free, bytes);
  }
  return no_segment;
}

// Gives idle allocations back until the device has got `bytes`, or none is left; returns how much
// it gave.
std::uint64_t PlainCore::flush(std::uint64_t bytes) {
  std::uint64_t given = 0;
  ++counts_.flushes;
  while (given < bytes) {
    std::uint64_t step = 0;
    for (const Kind kind : {own, medium, small}) {
      const SegmentId idle = heaps_[kind].idle_for(bytes - given);
      if (idle == no_segment) continue;
      step = heaps_[kind].release_range(idle);
      break;
    }
    if (step == 0) break;
    given += step;
  }
  return given;
}

void PlainCore::release(SegmentId used) {
  PlainHeap& heap = heaps_[segments_[used].heap];
  heap.release(used);
  limit_private_streams(heap, *pool_);
}

void PlainCore::publish(StreamId stream) {
  for (PlainHeap& heap : heaps_) heap.publish(stream);
}

std::vector<SegmentId> PlainCore::carve_up(SegmentId block,
                                           const std::vector<Tiling::Piece>& pieces) {
  return heaps_[segments_[block].heap].carve_up(block, pieces);
}

void PlainCore::wait_for_streams() {
  for (const PlainHeap& heap : heaps_) {
    for (const StreamId stream : heap.private_streams()) {
      if (!pool_->wait_for(stream)) continue;
      publish(stream);
      ++counts_.waits;
    }
  }
}

// Small blocks never have an allocation of their own, so they need no plan; and a small block that
// lives long would pin a whole piece of planned memory.
std::uint64_t PlainCore::least_planned_bytes() const {
  return small_bytes + 1;
}

std::uint64_t PlainCore::give_up(std::uint64_t bytes) {
  wait_for_streams();
  return flush(bytes);
}

void PlainCore::listen(const Tiling::RangeListener& listener) {
  for (PlainHeap& heap : heaps_) heap.listen(listener);
}

std::string PlainCore::broken_invariant() const {
  for (const Tiling* tiling : tilings_) {
    if (std::string broken = tiling->broken_invariant(); !broken.empty()) return broken;
  }
  return "";
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/plain_core.h"

#include <algorithm>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// Blocks up to this size are packed together, so that they do not pin large allocations.
constexpr std::uint64_t small_bytes = std::uint64_t{256} << 10U;
constexpr std::uint64_t small_chunk = page_bytes;
// Where memory is plenty, blocks up to this size are packed like that: on their own they would take
// 20 MiB.
constexpr std::uint64_t small_at_ease_bytes = std::uint64_t{512} << 10U;
constexpr std::uint64_t medium_chunk = std::uint64_t{32} << 20U;
// Where memory is plenty, blocks below this size share allocations of shared_chunk.
constexpr std::uint64_t shared_bytes = std::uint64_t{10} << 20U;
constexpr std::uint64_t shared_chunk = std::uint64_t{20} << 20U;
// A block has an allocation of its own from this size on, or if rounding it to 2 MiB wastes no more
// than 1/own_waste of it.
constexpr std::uint64_t own_bytes = std::uint64_t{16} << 20U;
constexpr std::uint64_t own_waste = 64;
// While a job loads its weights, so many blocks of one size, of so many bytes, may share an
// allocation where one alone would waste more.
constexpr std::uint64_t most_together = 8;
constexpr std::uint64_t together_bytes = std::uint64_t{160} << 20U;
// A block reuses an idle allocation only if the rest is at most 1/reuse_waste of the block, or a
// page.
constexpr std::uint64_t reuse_waste = 8;
// All allocations together may hold 1/idle_part more than was ever in use at once.
constexpr std::uint64_t idle_part = 4;
// Memory is plenty for a job of which nothing is known while 1/unknown_part of the capacity holds
// it. What is packed by then may pin an allocation for good: at an eighth, two recorded traces need
// 0.4 and 0.8 % more than with no packing, at a sixteenth none does.
constexpr std::uint64_t unknown_part = 16;
// A job is modest if after least_borders iterations it has not used more than 1/modest_part of the
// capacity. It is left at ease until all but 1/reserve_part of the capacity is held.
constexpr std::uint64_t least_borders = 3;
constexpr std::uint64_t modest_part = 2;
constexpr std::uint64_t reserve_part = 4;

// Returns how many blocks of this size share an allocation so that no more than 1/own_waste of it
// is wasted; 1 if more than most_together would have to.
std::uint64_t together(std::uint64_t bytes) {
  for (std::uint64_t count = 2; count <= most_together; ++count) {
    if (bytes > together_bytes / count) break;
    const std::uint64_t all = count * bytes;
    if (round_up(all, page_bytes) - all <= all / own_waste) return count;
  }
  return 1;
}

}  // namespace

PlainCore::PlainCore(DevicePool& pool)
    : pool_(&pool),
      heaps_{PlainHeap(small, segments_, pool), PlainHeap(medium, segments_, pool),
             PlainHeap(own, segments_, pool), PlainHeap(shared, segments_, pool)},
      tilings_{&heaps_[small], &heaps_[medium], &heaps_[shared], &heaps_[own]} {}

PlainCore::~PlainCore() {
  for (PlainHeap& heap : heaps_) heap.release_all();
}

PlainCore::Kind PlainCore::kind_of(std::uint64_t bytes) const {
  if (bytes <= (is_at_ease_ ? small_at_ease_bytes : small_bytes)) return small;
  if (is_at_ease_) return shared;
  const std::uint64_t waste = round_up(bytes, page_bytes) - bytes;
  if (waste <= bytes / own_waste) return own;
  return bytes >= own_bytes && !shares(bytes) ? own : medium;
}

// A size shares once as many blocks of it came as share one allocation: then more are likely to
// come. For the few of a size that does not repeat, as an embedding's, room would be kept in vain.
bool PlainCore::shares(std::uint64_t bytes) const {
  if (!is_loading_) return false;
  const auto loaded = loaded_.find(bytes);
  const std::uint64_t count = together(bytes);
  return count > 1 && loaded != loaded_.end() && loaded->second >= count;
}

SegmentId PlainCore::carve(PlainHeap& heap, SegmentId free, std::uint64_t bytes) {
  used_[segments_[free].heap] += bytes;
  if (is_loading_ && bytes >= own_bytes) ++loaded_[bytes];
  return heap.carve(free, bytes);
}

SegmentId PlainCore::take_ready(Kind kind, std::uint64_t bytes, StreamId stream) {
  PlainHeap& heap = heaps_[kind];
  const SegmentId free = heap.best_fit(bytes, stream);
  if (free != no_segment && fits(kind, segments_[free].bytes, bytes))
    return carve(heap, free, bytes);
  if (kind != medium && kind != own) return no_segment;
  // What was packed while memory was plenty serves everybody: as long as one block lives in such an
  // allocation, the rest of it is of no other use.
  const SegmentId left = heaps_[shared].best_fit(bytes, stream);
  return left != no_segment ? carve(heaps_[shared], left, bytes) : no_segment;
}

bool PlainCore::fits(Kind kind, std::uint64_t free_bytes, std::uint64_t bytes) {
  return kind != own || free_bytes - bytes <= std::max(page_bytes, bytes / reuse_waste);
}

SegmentId PlainCore::find_ready(std::uint64_t bytes, StreamId stream) {
  return take_ready(kind_of(bytes), bytes, stream);
}

SegmentId PlainCore::take_new(Kind kind, std::uint64_t bytes, StreamId stream) {
  const std::uint64_t least = round_up(bytes, page_bytes);
  std::uint64_t wanted = least;
  if (kind == small) wanted = std::max(least, small_chunk);
  if (kind == medium) wanted = std::max(least, medium_chunk);
  if (kind == medium && bytes >= own_bytes) wanted = round_up(together(bytes) * bytes, page_bytes);
  if (kind == shared && bytes < shared_bytes) wanted = shared_chunk;
  SegmentId made = heaps_[kind].add(wanted, stream);
  if (made == no_segment && wanted > least) made = heaps_[kind].add(least, stream);
  if (made == no_segment) return no_segment;
  ++counts_.growths;
  return carve(heaps_[kind], made, bytes);
}

// Gives idle allocations back when there are too many: otherwise a job with varying sequence
// lengths would hold several times what it uses, in allocations that fit no request any more.
// Returns a place if the wait for the streams brought one, and then gives nothing back.
SegmentId PlainCore::limit_idle(std::uint64_t bytes, StreamId stream) {
  const std::uint64_t used = used_[own];
  const std::uint64_t idle = heaps_[own].address_bytes() - used;
  own_peak_ = std::max(own_peak_, used + bytes);
  const std::uint64_t most = own_peak_ + own_peak_ / idle_part;
  if (used + idle + bytes <= most) return no_segment;
  wait_for_streams();
  const SegmentId found = take_ready(own, bytes, stream);
  if (found != no_segment) return found;
  // What the device lacks for the request has to go anyway. One allocation may be enough for both.
  const std::uint64_t excess = std::min(used + idle + bytes - most, idle);
  const std::uint64_t spare = pool_->spare() * page_bytes;
  const std::uint64_t needed = round_up(bytes, page_bytes);
  static_cast<void>(flush(std::max(excess, needed - std::min(spare, needed))));
  return no_segment;
}

// Compares what is held, and not what is in use, because that is what has to fit.
bool PlainCore::is_plenty(std::uint64_t bytes) const {
  const std::uint64_t capacity = pool_->capacity_bytes();
  const std::uint64_t most =
      is_modest_ ? capacity - capacity / reserve_part : capacity / unknown_part;
  return pool_->totals().reserved_bytes + round_up(bytes, shared_chunk) <= most;
}

// From now on every large block is kept apart, so that memory can go back whole.
void PlainCore::end_ease() {
  is_at_ease_ = false;
  is_modest_ = false;
  borders_ = 0;
}

void PlainCore::note_peak(std::uint64_t bytes) {
  for (const std::uint64_t used : used_) bytes += used;
  used_peak_ = std::max(used_peak_, bytes);
}

// Once a job has repeated itself, it is known how much it needs. What it keeps for good lies in
// allocations of its own by then; what comes and goes with an iteration can be packed without harm,
// since all of it is free again before long.
void PlainCore::note_iteration() {
  if (is_at_ease_ || is_deceived_ || ++borders_ < least_borders) return;
  note_peak(0);
  std::uint64_t held = 0;
  for (const PlainHeap& heap : heaps_) held += heap.address_bytes();
  const std::uint64_t reserved = pool_->totals().reserved_bytes;
  const std::uint64_t of_others = reserved - std::min(held, reserved);
  if (used_peak_ + of_others > pool_->capacity_bytes() / modest_part) return;
  static_cast<void>(give_up(held));
  is_at_ease_ = true;
  is_modest_ = true;
}

SegmentId PlainCore::find(std::uint64_t bytes, StreamId stream) {
  note_peak(bytes);
  SegmentId found = no_segment;
  if (is_at_ease_ && !is_plenty(bytes)) {
    end_ease();
    found = find_ready(bytes, stream);
    if (found != no_segment) return found;
  }
  Kind kind = kind_of(bytes);
  if (kind == own) found = limit_idle(bytes, stream);
  if (found != no_segment) return found;
  found = take_new(kind, bytes, stream);
  if (found != no_segment) {
    limit_private_streams(heaps_[kind], *pool_);
    return found;
  }
  // Others hold what the capacity promised, so it says nothing about what is left.
  if (is_at_ease_) {
    end_ease();
    is_deceived_ = true;
    kind = kind_of(bytes);
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
  if (is_at_ease_ && !is_plenty(bytes)) end_ease();
  const SegmentId found = take_new(kind_of(bytes), bytes, stream);
  return found != no_segment ? found : take_anywhere(bytes, stream);
}

// When the device has nothing left, uses free memory of the other kinds.
SegmentId PlainCore::take_anywhere(std::uint64_t bytes, StreamId stream) {
  for (PlainHeap& heap : heaps_) {
    const SegmentId free = heap.best_fit(bytes, stream);
    if (free != no_segment) return carve(heap, free, bytes);
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
    for (const Kind kind : {shared, own, medium, small}) {
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
  used_[segments_[used].heap] -= segments_[used].bytes;
  if (is_loading_ && segments_[used].bytes >= own_bytes) end_loading();
  heap.release(used);
  limit_private_streams(heap, *pool_);
}

void PlainCore::end_loading() {
  is_loading_ = false;
  loaded_.clear();
}

void PlainCore::publish(StreamId stream) {
  for (PlainHeap& heap : heaps_) heap.publish(stream);
}

std::vector<SegmentId> PlainCore::carve_up(SegmentId block,
                                           const std::vector<Tiling::Piece>& pieces) {
  const std::uint8_t heap = segments_[block].heap;
  used_[heap] -= segments_[block].bytes;
  for (const Tiling::Piece& piece : pieces) used_[heap] += piece.bytes;
  return heaps_[heap].carve_up(block, pieces);
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
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (heaps_[kind].bytes_in(SegmentState::used) != used_[kind]) return "the used bytes differ";
  }
  return "";
}

}  // namespace headroom::allocator

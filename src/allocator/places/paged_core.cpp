// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/paged_core.h"

#include <algorithm>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// Memory is plenty while less than 1/plenty_share of the capacity is held. It comes in large
// handles then, which blocks pin less when they are packed from below.
constexpr std::uint64_t plenty_share = 16;

}  // namespace

PagedCore::PagedCore(DevicePool& pages, std::uint64_t address_range_bytes)
    : pages_(&pages),
      small_(small_heap, segments_, pages, round_up(address_range_bytes, page_bytes)),
      large_(large_heap, segments_, pages, round_up(address_range_bytes, page_bytes)),
      tilings_{&small_, &large_} {}

PagedCore::~PagedCore() {
  small_.unmap_all();
  large_.unmap_all();
}

SegmentId PagedCore::find_ready(std::uint64_t bytes, StreamId stream) {
  return take_from(home(bytes), bytes, stream);
}

void PagedCore::release(SegmentId used) {
  Heap& heap = heap_of(used);
  heap.release(used);
  limit_private_streams(heap, *pages_);
}

void PagedCore::publish(StreamId stream) {
  small_.publish(stream);
  large_.publish(stream);
}

std::vector<SegmentId> PagedCore::carve_up(SegmentId block,
                                           const std::vector<Tiling::Piece>& pieces) {
  return heap_of(block).carve_up(block, pieces);
}

SegmentId PagedCore::find(std::uint64_t bytes, StreamId stream) {
  pages_->retry_creation();
  for (;;) {
    SegmentId found = grow(home(bytes), bytes, stream);
    if (found == no_segment) found = take_from(other(bytes), bytes, stream);
    if (found == no_segment) found = repair(home(bytes), bytes, stream);
    limit_private_streams(home(bytes), *pages_);
    if (found != no_segment || !wait_for_other_streams(stream)) return found;
    found = take_from(home(bytes), bytes, stream);
    if (found != no_segment) return found;
  }
}

SegmentId PagedCore::find_new(std::uint64_t bytes, StreamId stream) {
  pages_->retry_creation();
  const SegmentId found = grow(home(bytes), bytes, stream);
  return found != no_segment ? found : take_from(other(bytes), bytes, stream);
}

SegmentId PagedCore::take_from(Heap& heap, std::uint64_t bytes, StreamId stream) {
  const SegmentId free = heap.best_fit(bytes, stream);
  if (free == no_segment) return no_segment;
  if (is_plenty_) return heap.carve(free, bytes);
  const bool is_in_pieces = is_scattered_ || counts_.repairs > 0;
  return is_in_pieces && bytes % page_bytes == 0 ? take_on_pages(heap, free, bytes, stream)
                                                 : heap.carve_beside_younger(free, bytes);
}

// Where free memory lies in pieces, whole free pages are what repairs can use.
SegmentId PagedCore::take_on_pages(Heap& heap, SegmentId free, std::uint64_t bytes,
                                   StreamId stream) {
  if (!heap.fits_on_pages(free, bytes)) {
    const SegmentId larger = heap.best_fit(bytes + page_bytes - granule_bytes, stream);
    if (larger != no_segment) free = larger;
  }
  return heap.carve_on_pages(free, bytes);
}

SegmentId PagedCore::grow(Heap& heap, std::uint64_t bytes, StreamId stream) {
  auto window = heap.find_window(bytes, stream, {pages_->spare(), 0});
  if (!window) return no_segment;
  is_plenty_ = pages_->totals().reserved_bytes + bytes <= pages_->capacity_bytes() / plenty_share;
  const std::uint64_t needed = window->pages;
  const auto growth = pages_->growth(needed, heap.free_pages(stream), &heap == &small_);
  is_scattered_ = growth.is_scattered;
  if (growth.multiple > 1) heap.widen(*window, growth.multiple);
  const bool is_widened = window->pages > needed;
  const SegmentId claimed = heap.claim(*window);
  if (!heap.map(*window, claimed, stream, growth.per_handle)) {
    // What the device refused may be only what the block does not need.
    return is_widened ? take_from(heap, bytes, stream) : no_segment;
  }
  ++counts_.growths;
  return heap.occupy(*window, claimed);
}

std::uint64_t PagedCore::pages_to_move(std::uint64_t bytes, StreamId stream) {
  const std::uint64_t spare = pages_->spare();
  const auto window = home(bytes).find_window(bytes, stream, {spare, movable_pages(stream)});
  return window ? window->pages - std::min(window->pages, spare) : 0;
}

SegmentId PagedCore::repair(Heap& heap, std::uint64_t bytes, StreamId stream) {
  const Supply supply{pages_->spare(), movable_pages(stream)};
  if (supply.movable == 0 || !heap.find_window(bytes, stream, supply)) return no_segment;
  // Work that the stream has queued may still use the pages to be moved.
  if (!pages_->wait_for(stream)) return no_segment;
  publish(stream);
  const auto window = heap.find_window(bytes, stream, supply);
  if (!window) return no_segment;
  const SegmentId claimed = heap.claim(*window);
  if (!collect_pages(*window)) {
    heap.give_up(*window, claimed);
    return no_segment;
  }
  if (!heap.map(*window, claimed, stream)) return no_segment;
  pages_->note(FlightKind::repair, window->first_page, window->pages * page_bytes, stream);
  ++counts_.repairs;
  return heap.occupy(*window, claimed);
}

// Unmaps free pages outside the window until the window can be mapped. Small free segments give
// theirs first, because large ones are more useful as they are.
bool PagedCore::collect_pages(const Window& window) {
  struct Donor {
    Heap* heap;
    SegmentId segment;
  };
  std::vector<Donor> donors;
  for (Heap* heap : {&small_, &large_}) {
    heap->for_each_with_pages(any_stream, [&](SegmentId id) {
      if (!window.contains(segments_[id])) donors.push_back({heap, id});
    });
  }
  for (const Donor& donor : donors) {
    if (pages_->spare() >= window.pages) break;
    counts_.moved_pages += donor.heap->unmap_pages(donor.segment, window.pages - pages_->spare());
  }
  return pages_->spare() >= window.pages;
}

std::uint64_t PagedCore::movable_pages(StreamId stream) const {
  std::uint64_t pages = 0;
  for (const Heap* heap : {&small_, &large_})
    heap->for_each_with_pages(stream,
                              [&](SegmentId id) { pages += heap->movable_pages(segments_[id]); });
  return pages;
}

// False if no other stream owned free bytes, so that waiting changed nothing.
bool PagedCore::wait_for_other_streams(StreamId stream) {
  bool waited = false;
  for (const Heap* heap : {&small_, &large_}) {
    for (const StreamId other : heap->private_streams()) {
      if (other == stream || !pages_->wait_for(other)) continue;
      publish(other);
      ++counts_.waits;
      waited = true;
    }
  }
  return waited;
}

std::uint64_t PagedCore::give_up(std::uint64_t bytes) {
  for (const Heap* heap : {&small_, &large_}) {
    for (const StreamId stream : heap->private_streams()) {
      if (!pages_->wait_for(stream)) continue;
      publish(stream);
      ++counts_.waits;
    }
  }
  std::uint64_t given = 0;
  for (Heap* heap : {&large_, &small_}) {
    std::vector<SegmentId> donors;
    heap->for_each_with_pages(any_stream, [&](SegmentId id) { donors.push_back(id); });
    for (const SegmentId id : donors) {
      if (given >= bytes) return given;
      const std::uint64_t wanted = (bytes - given + page_bytes - 1) / page_bytes;
      given += heap->unmap_pages(id, wanted) * page_bytes;
    }
  }
  return given;
}

void PagedCore::listen(const Tiling::RangeListener& listener) {
  small_.listen(listener);
  large_.listen(listener);
}

std::string PagedCore::broken_invariant() const {
  for (const Tiling* tiling : tilings_) {
    if (std::string broken = tiling->broken_invariant(); !broken.empty()) return broken;
  }
  return "";
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

// 8 PiB less a page: what a PageHandle can number.
constexpr std::uint64_t max_pages = std::numeric_limits<PageHandle>::max();

// More streams than any program uses. Beyond it the allocator waits for them rather than keep an
// index of free blocks for each.
constexpr std::size_t max_private_streams = 64;

}  // namespace

HeadroomAllocator::HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes,
                                     Options options)
    : pages_(backend, std::min(capacity_bytes / page_bytes, max_pages)),
      small_(small_heap, segments_, pages_, round_up(options.address_range_bytes, page_bytes)),
      large_(large_heap, segments_, pages_, round_up(options.address_range_bytes, page_bytes)) {}

HeadroomAllocator::HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes)
    : HeadroomAllocator(*backend, capacity_bytes) {
  owned_backend_ = std::move(backend);
}

HeadroomAllocator::~HeadroomAllocator() {
  small_.unmap_all();
  large_.unmap_all();
}

std::uint64_t HeadroomAllocator::capacity_bytes() const {
  return pages_.capacity_pages() * page_bytes;
}

std::optional<Address> HeadroomAllocator::allocate(const Request& request) {
  const std::scoped_lock lock(mutex_);
  if (request.bytes > capacity_bytes()) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  const SegmentId id = find_block(bytes, request.stream);
  if (id == no_segment) return std::nullopt;
  Segment& segment = segments_[id];
  segment.stream = request.stream;
  segment.tag = request.tag;
  blocks_.insert(segment.address, id);
  tracker_.add_live(request.tag, bytes);
  return segment.address;
}

void HeadroomAllocator::free(Address address) {
  const std::scoped_lock lock(mutex_);
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) {
    ++counts_.foreign_frees;
    return;
  }
  blocks_.erase(address);
  tracker_.remove_live(segments_[id].tag, segments_[id].bytes);
  Heap& heap = heap_of(id);
  heap.release(id);
  if (heap.stream_count() > max_private_streams) limit_private_streams(heap);
}

void HeadroomAllocator::retag(Address address, Component tag) {
  const std::scoped_lock lock(mutex_);
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) {
    ++counts_.foreign_frees;
    return;
  }
  Segment& segment = segments_[id];
  tracker_.move_live(segment.tag, tag, segment.bytes);
  segment.tag = tag;
}

void HeadroomAllocator::synchronize(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  publish(stream);
}

void HeadroomAllocator::publish(StreamId stream) {
  small_.publish(stream);
  large_.publish(stream);
}

SegmentId HeadroomAllocator::find_block(std::uint64_t bytes, StreamId stream) {
  const SegmentId hit = take_from(home(bytes), bytes, stream);
  if (hit != no_segment) return hit;
  const SegmentId found = find_block_on_miss(bytes, stream);
  note_pages();
  return found;
}

void HeadroomAllocator::note_pages() {
  tracker_.set_reserved(pages_.created() * page_bytes);
  tracker_.set_device_calls(pages_.device_calls(), pages_.device_ns());
}

SegmentId HeadroomAllocator::find_block_on_miss(std::uint64_t bytes, StreamId stream) {
  pages_.retry_creation();
  for (;;) {
    SegmentId found = grow(home(bytes), bytes, stream);
    if (found == no_segment) found = take_from(other(bytes), bytes, stream);
    if (found == no_segment) found = repair(home(bytes), bytes, stream);
    if (found != no_segment || !wait_for_other_streams(stream)) return found;
    found = take_from(home(bytes), bytes, stream);
    if (found != no_segment) return found;
  }
}

SegmentId HeadroomAllocator::take_from(Heap& heap, std::uint64_t bytes, StreamId stream) {
  const SegmentId free = heap.best_fit(bytes, stream);
  return free == no_segment ? no_segment : heap.carve(free, bytes);
}

SegmentId HeadroomAllocator::grow(Heap& heap, std::uint64_t bytes, StreamId stream) {
  const auto window = heap.find_window(bytes, stream, {pages_.spare(), 0});
  if (!window) return no_segment;
  const SegmentId claimed = heap.claim(*window);
  if (!heap.map(claimed, stream)) return no_segment;
  ++counts_.growths;
  return heap.occupy(*window, claimed);
}

SegmentId HeadroomAllocator::repair(Heap& heap, std::uint64_t bytes, StreamId stream) {
  const Supply supply{pages_.spare(), movable_pages(stream)};
  if (supply.movable == 0 || !heap.find_window(bytes, stream, supply)) return no_segment;
  // The pages to move may still be in use by what the stream has queued.
  if (!pages_.wait_for(stream)) return no_segment;
  publish(stream);
  const auto window = heap.find_window(bytes, stream, supply);
  if (!window) return no_segment;
  const SegmentId claimed = heap.claim(*window);
  if (!collect_pages(*window)) {
    heap.give_up(claimed);
    return no_segment;
  }
  if (!heap.map(claimed, stream)) return no_segment;
  ++counts_.repairs;
  return heap.occupy(*window, claimed);
}

// Unmaps free pages outside the window until it can be mapped. Small free segments give first:
// large ones are the more useful as they are.
bool HeadroomAllocator::collect_pages(const Window& window) {
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
    if (pages_.spare() >= window.pages) break;
    counts_.moved_pages += donor.heap->unmap_pages(donor.segment, window.pages - pages_.spare());
  }
  return pages_.spare() >= window.pages;
}

std::uint64_t HeadroomAllocator::movable_pages(StreamId stream) const {
  std::uint64_t pages = 0;
  for (const Heap* heap : {&small_, &large_})
    heap->for_each_with_pages(stream,
                              [&](SegmentId id) { pages += Heap::whole_pages(segments_[id]); });
  return pages;
}

// False if there was none that still owned free bytes, so that waiting changed nothing.
bool HeadroomAllocator::wait_for_other_streams(StreamId stream) {
  bool waited = false;
  for (const Heap* heap : {&small_, &large_}) {
    for (const StreamId other : heap->private_streams()) {
      if (other == stream || !pages_.wait_for(other)) continue;
      publish(other);
      ++counts_.waits;
      waited = true;
    }
  }
  return waited;
}

void HeadroomAllocator::limit_private_streams(Heap& heap) {
  for (const StreamId stream : heap.private_streams()) {
    if (!pages_.wait_for(stream)) continue;
    publish(stream);
    ++counts_.waits;
    return;
  }
}

Usage HeadroomAllocator::usage_snapshot() const {
  const std::scoped_lock lock(mutex_);
  return tracker_.usage();
}

MissCounts HeadroomAllocator::miss_counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

std::optional<std::uint64_t> HeadroomAllocator::block_bytes(Address address) const {
  const std::scoped_lock lock(mutex_);
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) return std::nullopt;
  return segments_[id].bytes;
}

OutOfMemory HeadroomAllocator::explain(const Request& request) const {
  const std::scoped_lock lock(mutex_);
  OutOfMemory problem;
  problem.request = request;
  problem.capacity_bytes = capacity_bytes();
  problem.usage = tracker_.usage();
  problem.spare_bytes = pages_.spare() * page_bytes;
  problem.device = pages_.last_error();
  std::uint64_t whole_pages = pages_.spare();
  for (const Heap* heap : {&small_, &large_}) {
    heap->for_each_free([&](const Segment& segment) {
      problem.free_bytes += segment.bytes;
      whole_pages += Heap::whole_pages(segment);
      problem.fits_bytes = std::max(problem.fits_bytes, segment.bytes);
      if (heap->usable(segment, request.stream))
        problem.largest_free_bytes = std::max(problem.largest_free_bytes, segment.bytes);
      else
        problem.waiting_bytes += segment.bytes;
    });
  }
  problem.fits_bytes = std::max(problem.fits_bytes, whole_pages * page_bytes);
  return problem;
}

std::string HeadroomAllocator::broken_invariant() const {
  const std::scoped_lock lock(mutex_);
  for (const Heap* heap : {&small_, &large_}) {
    if (std::string broken = heap->broken_invariant(); !broken.empty()) return broken;
  }
  std::uint64_t live = 0;
  for (const Component component : all_components) live += tracker_.usage().live[component];
  if (live != tracker_.usage().live_bytes) return "live bytes by component do not add up";
  std::uint64_t used = 0;
  std::uint64_t mapped = 0;
  for (const Heap* heap : {&small_, &large_}) {
    used += heap->bytes_in(SegmentState::used);
    mapped += heap->bytes_in(SegmentState::used) + heap->bytes_in(SegmentState::free);
  }
  if (used != live + pages_.lost() * page_bytes) return "used segments and live bytes differ";
  if (mapped + pages_.unmapped() * page_bytes != pages_.created() * page_bytes)
    return "pages were lost: mapped and unmapped ones do not add up to the created ones";
  if (pages_.created() > pages_.capacity_pages()) return "more pages than the capacity";
  return "";
}

}  // namespace headroom::allocator

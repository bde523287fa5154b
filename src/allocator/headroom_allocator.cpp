// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom_allocator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/paged_core.h"
#include "allocator/plain_core.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

std::unique_ptr<Core> make_core(DevicePool& pool, const HeadroomAllocator::Options& options) {
  if (options.virtual_memory && pool.capabilities().virtual_memory)
    return std::make_unique<PagedCore>(pool, options.address_range_bytes);
  return std::make_unique<PlainCore>(pool);
}

}  // namespace

HeadroomAllocator::HeadroomAllocator(Backend& backend, std::uint64_t capacity_bytes,
                                     Options options)
    : pool_(backend, capacity_bytes),
      core_(make_core(pool_, options)),
      name_(options.virtual_memory ? "headroom" : "headroom-no-vmm") {}

HeadroomAllocator::HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes,
                                     Options options)
    : HeadroomAllocator(*backend, capacity_bytes, options) {
  owned_backend_ = std::move(backend);
}

HeadroomAllocator::~HeadroomAllocator() {
  core_.reset();
}

std::optional<Address> HeadroomAllocator::allocate(const Request& request) {
  const std::scoped_lock lock(mutex_);
  if (request.bytes > capacity_bytes()) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  const SegmentId id = find_block(bytes, request.stream);
  if (id == no_segment) return std::nullopt;
  Segment& segment = core_->segment(id);
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
    ++foreign_frees_;
    return;
  }
  blocks_.erase(address);
  tracker_.remove_live(core_->segment(id).tag, core_->segment(id).bytes);
  core_->release(id);
}

void HeadroomAllocator::retag(Address address, Component tag) {
  const std::scoped_lock lock(mutex_);
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) {
    ++foreign_frees_;
    return;
  }
  Segment& segment = core_->segment(id);
  tracker_.move_live(segment.tag, tag, segment.bytes);
  segment.tag = tag;
}

void HeadroomAllocator::synchronize(StreamId stream) {
  const std::scoped_lock lock(mutex_);
  core_->publish(stream);
}

SegmentId HeadroomAllocator::find_block(std::uint64_t bytes, StreamId stream) {
  const SegmentId ready = core_->find_ready(bytes, stream);
  if (ready != no_segment) return ready;
  const SegmentId found = core_->find(bytes, stream);
  const DevicePool::Totals totals = pool_.totals();
  tracker_.set_reserved(totals.reserved_bytes);
  tracker_.set_device_calls(totals.device_calls, totals.device_ns);
  return found;
}

Usage HeadroomAllocator::usage_snapshot() const {
  const std::scoped_lock lock(mutex_);
  return tracker_.usage();
}

MissCounts HeadroomAllocator::miss_counts() const {
  const std::scoped_lock lock(mutex_);
  MissCounts counts = core_->counts();
  counts.foreign_frees = foreign_frees_;
  return counts;
}

std::optional<std::uint64_t> HeadroomAllocator::block_bytes(Address address) const {
  const std::scoped_lock lock(mutex_);
  const SegmentId id = blocks_.find(address);
  if (id == no_segment) return std::nullopt;
  return core_->segment(id).bytes;
}

OutOfMemory HeadroomAllocator::explain(const Request& request) const {
  const std::scoped_lock lock(mutex_);
  OutOfMemory problem;
  problem.request = request;
  problem.capacity_bytes = capacity_bytes();
  problem.usage = tracker_.usage();
  problem.spare_bytes = pool_.spare() * page_bytes;
  problem.device = pool_.last_error();
  std::uint64_t whole_pages = pool_.spare();
  for (const Tiling* tiling : core_->tilings()) {
    tiling->for_each_free([&](const Segment& segment) {
      problem.free_bytes += segment.bytes;
      whole_pages += Heap::whole_pages(segment);
      problem.fits_bytes = std::max(problem.fits_bytes, segment.bytes);
      if (tiling->usable(segment, request.stream))
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
  if (std::string broken = core_->broken_invariant(); !broken.empty()) return broken;
  std::uint64_t live = 0;
  for (const Component component : all_components) live += tracker_.usage().live[component];
  if (live != tracker_.usage().live_bytes) return "live bytes by component do not add up";
  std::uint64_t used = 0;
  std::uint64_t free = 0;
  for (const Tiling* tiling : core_->tilings()) {
    used += tiling->bytes_in(SegmentState::used);
    free += tiling->bytes_in(SegmentState::free);
  }
  const DevicePool::Totals totals = pool_.totals();
  if (used != live + totals.lost_pages * page_bytes) return "used segments and live bytes differ";
  if (used + free + totals.unmapped_pages * page_bytes != totals.reserved_bytes)
    return "memory was lost: segments and unmapped pages do not add up to what was taken";
  if (totals.reserved_bytes > pool_.capacity_bytes()) return "more memory than the capacity";
  return "";
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/headroom/headroom_allocator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/forensics/diagnose.h"
#include "allocator/headroom/visit_shards.h"
#include "allocator/places/paged_core.h"
#include "allocator/places/plain_core.h"
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
    : pool_(backend, capacity_bytes, options.budget, options.device_recorder),
      options_(std::move(options)),
      name_(options_.virtual_memory ? "headroom" : "headroom-no-vmm") {
  create_shard(0);
}

HeadroomAllocator::HeadroomAllocator(std::unique_ptr<Backend> backend, std::uint64_t capacity_bytes,
                                     Options options)
    : HeadroomAllocator(*backend, capacity_bytes, std::move(options)) {
  owned_backend_ = std::move(backend);
}

HeadroomAllocator::~HeadroomAllocator() {
  pool_.stop_recording();
  owned_shards_.clear();
}

Shard& HeadroomAllocator::create_shard(std::size_t number) {
  const MutexLock creating(creation_mutex_);
  if (Shard* made = existing(number)) return *made;
  Shard::Options options{.planning = options_.planning && number < stream_shards,
                         .executor = options_.executor};
  if (options_.recorder) options.recorder = options_.recorder(static_cast<std::uint32_t>(number));
  auto made = std::make_unique<Shard>(make_core(pool_, options_), pool_, std::move(options));
  const auto listen = [this](Shard& shard, std::size_t owner) {
    const MutexLock lock(shard.mutex());
    shard.core().listen([this, owner](std::uint64_t address, std::uint64_t bytes) {
      directory_.set(address, bytes, static_cast<std::uint8_t>(owner + 1));
    });
    peak_.note(owner, shard.usage());
  };
  // One shard needs no directory.
  if (owned_shards_.size() == 1) listen(*owned_shards_.front(), 0);
  if (!owned_shards_.empty()) listen(*made, number);
  Shard& shard = *made;
  owned_shards_.push_back(std::move(made));
  shards_[number].store(&shard, std::memory_order_release);
  shards_end_.store(std::max(shards_end_.load(std::memory_order_relaxed), number + 1),
                    std::memory_order_release);
  return shard;
}

Shard& HeadroomAllocator::shard(std::size_t number) {
  Shard* made = existing(number);
  return made != nullptr ? *made : create_shard(number);
}

std::size_t HeadroomAllocator::number_while_filling(StreamId stream) const {
  const MutexLock lock(creation_mutex_);
  for (const GraphPool& each : graph_pools_)
    if (std::count(each.streams.begin(), each.streams.end(), stream) > 0) return each.shard;
  return std::min<std::size_t>(stream, stream_shards - 1);
}

std::optional<Address> HeadroomAllocator::allocate(const Request& request) {
  const Address address = pool_.is_ours() ? find(request) : no_address;
  return address != no_address ? std::optional(address) : std::nullopt;
}

Address HeadroomAllocator::find(const Request& request) {
  const std::size_t number = number_for(request.stream);
  Shard& own = shard(number);
  if (request.bytes > capacity_bytes()) return refuse(own, request, request.bytes);
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  {
    const MutexLock lock(own.mutex());
    drain(own);
    if (const Address address = own.ready(request, bytes)) {
      note_peak(number, own);
      return address;
    }
  }
  const Address address = on_miss(number, request, bytes);
  return address != no_address ? address : refuse(own, request, bytes);
}

Address HeadroomAllocator::refuse(Shard& own, const Request& request, std::uint64_t bytes) {
  const MutexLock lock(own.mutex());
  own.note_refusal(request, bytes);
  return no_address;
}

// Before asking the device, uses what other streams are done with; before giving up a plan, what
// other shards do not use; and before failing, everything.
Address HeadroomAllocator::on_miss(std::size_t own, const Request& request, std::uint64_t bytes) {
  // One request at a time gets here. Two that collect pages at once would take them from each
  // other, and both would fail.
  const MutexLock lock(miss_mutex_);
  if (is_alone()) return try_hard(own, request, bytes, Shard::Plan::break_up);
  if (const Address address = borrow(own, request, bytes)) return address;
  for (const auto plan : {Shard::Plan::keep, Shard::Plan::break_up}) {
    if (const Address address = try_hard(own, request, bytes, plan)) return address;
    if (!collect(own, bytes, plan)) continue;
    if (const Address address = try_hard(own, request, bytes, plan)) return address;
  }
  return no_address;
}

Address HeadroomAllocator::borrow(std::size_t own, const Request& request, std::uint64_t bytes) {
  if (own >= stream_shards) return no_address;
  Address address = no_address;
  any_shard(false, [&](std::size_t number, Shard& other) HEADROOM_REQUIRES(other.mutex()) {
    if (number == own) return false;
    address = other.lend(request, bytes);
    if (address != no_address) note_peak(number, other);
    return address != no_address;
  });
  return address;
}

Address HeadroomAllocator::try_hard(std::size_t own, const Request& request, std::uint64_t bytes,
                                    Shard::Plan plan) {
  Shard& shard = *existing(own);
  const MutexLock lock(shard.mutex());
  Address address = no_address;
  do {
    drain(shard);
    address = shard.hard(request, bytes, plan);
  } while (address == no_address && shard.has_mail());  // What was freed meanwhile may be enough.
  if (address != no_address) note_peak(own, shard);
  return address;
}

bool HeadroomAllocator::collect(std::size_t own, std::uint64_t bytes, Shard::Plan plan) {
  // One page more is collected, since the memory need not begin where a page of the block begins.
  const std::uint64_t wanted = round_up(bytes, page_bytes) + page_bytes;
  std::uint64_t given = 0;
  any_shard(true, [&](std::size_t number, Shard& other) HEADROOM_REQUIRES(other.mutex()) {
    if (number != own) given += other.give_up(wanted - given, plan);
    return given >= wanted;
  });
  return given > 0;
}

void HeadroomAllocator::free(Address address) {
  if (!pool_.is_ours()) return;
  const bool alone = is_alone();
  const AddressDirectory::Answer where =
      alone ? AddressDirectory::Answer{1, true} : directory_.owner(address);
  if (where.owner != AddressDirectory::nobody) {
    const std::size_t number = where.owner - std::size_t{1};
    Shard& first = *existing(number);
    DeferredLock lock(first.mutex());
    // The next thread that takes this shard's lock performs the free, so this must be the right
    // shard.
    if (!where.is_sure)
      lock.lock();
    else if (!lock.try_lock())
      return first.inbox_put(address);
    drain(first);
    if (first.free(address)) return note_peak(number, first);
  }
  const auto take = [&](std::size_t number, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    if (!shard.free(address)) return false;
    note_peak(number, shard);
    return true;
  };
  const bool freed = !is_alone() && any_shard(true, take);
  if (!freed) ++foreign_frees_;
}

void HeadroomAllocator::retag(Address address, Component tag) {
  const auto change = [&](std::size_t /*number*/, Shard& shard)
                          HEADROOM_REQUIRES(shard.mutex()) { return shard.retag(address, tag); };
  if (!at_owner(address, change)) ++foreign_frees_;
}

void HeadroomAllocator::record_stream(Address address, StreamId stream) {
  const auto note = [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    return shard.record_stream(address, stream);
  };
  if (!at_owner(address, note)) ++foreign_frees_;
}

void HeadroomAllocator::synchronize(StreamId stream) {
  const std::size_t own = number_for(stream);
  any_shard(true, [&](std::size_t number, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    shard.publish(stream);
    if (number == own) shard.note_synchronization(stream);
    return false;
  });
}

const Usage& HeadroomAllocator::usage() const {
  if (!pool_.is_ours()) return usage_;
  const Usage now = usage_snapshot();
  const MutexLock lock(usage_mutex_);
  usage_ = now;
  return usage_;
}

Usage HeadroomAllocator::usage_snapshot() const {
  Usage usage;
  if (!pool_.is_ours()) return usage;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    const Usage& part = shard.usage();
    usage.repairs += shard.core().counts().repairs + shard.core().counts().flushes;
    usage.live_bytes += part.live_bytes;
    for (const Component c : all_components) usage.live[c] += part.live[c];
    if (part.live_peak_bytes > usage.live_peak_bytes) {
      usage.live_peak_bytes = part.live_peak_bytes;
      usage.live_at_peak = part.live_at_peak;
    }
    return false;
  });
  if (!is_alone() && peak_.bytes() > usage.live_peak_bytes) {
    usage.live_at_peak = peak_.by_component();
    usage.live_peak_bytes = 0;
    for (const Component c : all_components) usage.live_peak_bytes += usage.live_at_peak[c];
  }
  if (usage.live_bytes > usage.live_peak_bytes) {
    usage.live_peak_bytes = usage.live_bytes;
    usage.live_at_peak = usage.live;
  }
  const DevicePool::Totals totals = pool_.totals();
  usage.reserved_bytes = totals.reserved_bytes;
  usage.reserved_peak_bytes = totals.reserved_peak_bytes;
  usage.device_calls = totals.device_calls;
  usage.device_ns = totals.device_ns;
  return usage;
}

void HeadroomAllocator::reset_peaks() {
  if (!pool_.is_ours()) return;
  any_shard(true, [&](std::size_t number, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    shard.reset_peak();
    if (!is_alone()) peak_.note_exactly(number, shard.usage());
    return false;
  });
  peak_.reset();
  pool_.reset_peak();
}

MissCounts HeadroomAllocator::miss_counts() const {
  MissCounts counts;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    const MissCounts& part = shard.core().counts();
    counts.growths += part.growths;
    counts.repairs += part.repairs;
    counts.moved_pages += part.moved_pages;
    counts.flushes += part.flushes;
    counts.waits += part.waits;
    return false;
  });
  counts.foreign_frees = foreign_frees_;
  return counts;
}

PlanCounts HeadroomAllocator::plan_counts() const {
  PlanCounts counts;
  any_shard(false, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    const PlanCounts& part = shard.plan_counts();
    counts.iterations += part.iterations;
    counts.plans += part.plans;
    counts.planned += part.planned;
    counts.broken += part.broken;
    return false;
  });
  return counts;
}

std::optional<std::uint64_t> HeadroomAllocator::block_bytes(Address address) const {
  std::optional<std::uint64_t> bytes;
  at_owner(address, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    bytes = shard.block_bytes(address);
    return bytes.has_value();
  });
  return bytes;
}

HeapView HeadroomAllocator::view(const Request& request) const {
  HeapView view;
  view.request = request;
  view.capacity_bytes = capacity_bytes();
  if (!pool_.is_ours()) {
    view.device = Error{Errc::unsupported, "this process was forked from the one with this memory",
                        "make the allocator after the fork, or start the child with exec"};
    return view;
  }
  view.usage = usage_snapshot();
  const std::size_t own = number_for(request.stream);
  any_shard(true, [&](std::size_t number, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    shard.add_to(view, request.stream);
    if (number == own) shard.add_ages_to(view);
    return false;
  });
  view.names = options_.names;
  view.spare_bytes = pool_.spare() * page_bytes;
  view.device = pool_.last_error();
  view.device_memory = pool_.device_memory();
  return view;
}

OutOfMemory HeadroomAllocator::explain(const Request& request) const {
  return diagnose(view(request));
}

std::string HeadroomAllocator::broken_invariant() const {
  if (!pool_.is_ours()) return "";
  std::string broken;
  std::uint64_t accounted = 0;
  std::uint64_t free = 0;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    broken = shard.broken_invariant();
    accounted += shard.usage().live_bytes + shard.set_aside_bytes();
    for (const Tiling* tiling : shard.core().tilings()) {
      accounted -= tiling->bytes_in(SegmentState::used);
      free += tiling->bytes_in(SegmentState::used) + tiling->bytes_in(SegmentState::free);
    }
    return !broken.empty();
  });
  if (!broken.empty()) return broken;
  const DevicePool::Totals totals = pool_.totals();
  if (accounted + totals.lost_pages * page_bytes != 0) return "used segments and live bytes differ";
  if (free + totals.unmapped_pages * page_bytes != totals.reserved_bytes)
    return "memory was lost: segments and unmapped pages do not add up to what was taken";
  if (totals.reserved_bytes > totals.held_limit_bytes) return "more memory than the capacity";
  return "";
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// How the .cpp files of HeadroomAllocator go through its shards. A visitor says that it needs the
// shard's lock, HEADROOM_REQUIRES(shard.mutex()); it is called by its operator's name because clang
// 16 mixes up the arguments of `visit(number, shard)` when it looks for the lock.
#pragma once

#include <algorithm>

#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {

template <class Visit>
bool HeadroomAllocator::any_shard(bool with_pools, Visit&& visit) const {
  if (!pool_.is_ours()) return false;
  const std::size_t end = shards_end_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < (with_pools ? end : std::min(end, stream_shards)); ++i) {
    Shard* each = existing(i);
    if (each == nullptr) continue;
    const MutexLock lock(each->mutex());
    drain(*each);
    if (visit.operator()(i, *each)) return true;
  }
  return false;
}

template <class Visit>
bool HeadroomAllocator::at_owner(Address address, Visit&& visit) const {
  if (!pool_.is_ours()) return false;
  const std::size_t owner = is_alone() ? 1 : directory_.owner(address).owner;
  if (owner != AddressDirectory::nobody) {
    Shard& first = *existing(owner - 1);
    const MutexLock lock(first.mutex());
    drain(first);
    if (visit.operator()(owner - 1, first)) return true;
  }
  return !is_alone() && any_shard(true, visit);
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// Gives memory back to the device because the program asks for it, not because a request needs it.
#include <algorithm>

#include "allocator/headroom/visit_shards.h"

namespace headroom::allocator {

std::uint64_t HeadroomAllocator::trim() {
  if (!pool_.is_ours()) return 0;
  const std::uint64_t before = pool_.totals().reserved_bytes;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    static_cast<void>(shard.trim());
    return false;
  });
  static_cast<void>(pool_.shrink());
  return before - std::min(before, pool_.totals().reserved_bytes);
}

void HeadroomAllocator::set_capacity(std::uint64_t bytes) {
  if (!pool_.is_ours()) return;
  pool_.set_capacity(bytes);
  const auto excess = [&] {
    const std::uint64_t held = pool_.totals().reserved_bytes;
    return held - std::min(held, pool_.capacity_bytes());
  };
  if (excess() == 0) return;
  any_shard(true, [&](std::size_t /*number*/, Shard& shard) HEADROOM_REQUIRES(shard.mutex()) {
    static_cast<void>(shard.give_up(excess(), Shard::Plan::break_up));
    return excess() == 0;
  });
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// Memory goes back to the device because the program says so, not because a request needs it.
#include <algorithm>

#include "allocator/visit_shards.h"

namespace headroom::allocator {

HeadroomAllocator::ShardSet HeadroomAllocator::pools_in_use() const {
  ShardSet shards;
  const std::scoped_lock lock(creation_mutex_);
  for (const GraphPool& each : graph_pools_) shards.set(each.shard);
  return shards;
}

std::uint64_t HeadroomAllocator::trim() {
  const ShardSet kept = pools_in_use();
  const std::uint64_t before = pool_.totals().reserved_bytes;
  any_shard(true, [&](std::size_t number, Shard& shard) {
    if (!kept.test(number)) static_cast<void>(shard.trim());
    return false;
  });
  static_cast<void>(pool_.shrink());
  return before - std::min(before, pool_.totals().reserved_bytes);
}

void HeadroomAllocator::set_capacity(std::uint64_t bytes) {
  pool_.set_capacity(bytes);
  const auto excess = [&] {
    const std::uint64_t held = pool_.totals().reserved_bytes;
    return held - std::min(held, pool_.capacity_bytes());
  };
  if (excess() == 0) return;
  const ShardSet kept = pools_in_use();
  any_shard(true, [&](std::size_t number, Shard& shard) {
    if (!kept.test(number)) static_cast<void>(shard.give_up(excess()));
    return excess() == 0;
  });
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// The pools of captured graphs: each is a shard of its own, so that nothing else ever uses its
// memory.
#include <fmt/format.h>

#include <algorithm>

#include "allocator/headroom_allocator.h"

namespace headroom::allocator {

Status HeadroomAllocator::begin_pool(PoolId pool, StreamId stream) {
  std::size_t number = stream_shards;
  {
    const std::scoped_lock lock(creation_mutex_);
    const auto known = std::find_if(graph_pools_.begin(), graph_pools_.end(),
                                    [&](const GraphPool& each) { return each.id == pool; });
    if (known != graph_pools_.end()) {
      known->stream = stream;
      is_filling_pools_.store(true, std::memory_order_release);
      return Done{};
    }
    const auto is_taken = [&](std::size_t shard) {
      return std::any_of(graph_pools_.begin(), graph_pools_.end(),
                         [&](const GraphPool& each) { return each.shard == shard; });
    };
    while (number < max_shards && is_taken(number)) ++number;
    if (number == max_shards)
      return Error{Errc::unsupported,
                   fmt::format("expected at most {} graph pools at a time, found one more",
                               max_shards - stream_shards),
                   "release the pools of graphs that are not replayed any more"};
  }
  static_cast<void>(shard(number));
  const std::scoped_lock lock(creation_mutex_);
  graph_pools_.push_back({pool, number, stream});
  is_filling_pools_.store(true, std::memory_order_release);
  return Done{};
}

void HeadroomAllocator::end_pool(PoolId pool) {
  const std::scoped_lock lock(creation_mutex_);
  bool is_filling = false;
  for (GraphPool& each : graph_pools_) {
    if (each.id == pool) each.stream.reset();
    is_filling = is_filling || each.stream.has_value();
  }
  is_filling_pools_.store(is_filling, std::memory_order_release);
}

void HeadroomAllocator::release_pool(PoolId pool) {
  end_pool(pool);
  std::size_t number = max_shards;
  {
    const std::scoped_lock lock(creation_mutex_);
    std::erase_if(graph_pools_, [&](const GraphPool& each) {
      if (each.id == pool) number = each.shard;
      return each.id == pool;
    });
  }
  if (number == max_shards) return;
  Shard& released = *existing(number);
  const std::scoped_lock lock(released.mutex());
  static_cast<void>(released.drain_inbox());
  static_cast<void>(released.give_up(capacity_bytes()));
}

}  // namespace headroom::allocator

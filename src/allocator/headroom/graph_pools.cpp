// SPDX-License-Identifier: Apache-2.0
// The pools of captured graphs: each is a shard of its own, so that nothing else ever uses its
// memory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {
namespace {

Error not_in_a_child() {
  return {Errc::unsupported, "this process was forked from the one with this memory",
          "capture the graph in the process that made the allocator"};
}

}  // namespace

// Returns the number of the pool's shard; creates the pool if it is new.
Result<std::size_t> HeadroomAllocator::pool_shard(PoolId pool) {
  for (const GraphPool& each : graph_pools_)
    if (each.id == pool) return each.shard;
  const auto is_taken = [&](std::size_t shard) HEADROOM_REQUIRES(creation_mutex_) {
    return std::any_of(graph_pools_.begin(), graph_pools_.end(),
                       [&](const GraphPool& each) { return each.shard == shard; });
  };
  std::size_t number = stream_shards;
  while (number < max_shards && is_taken(number)) ++number;
  if (number == max_shards)
    return Error{Errc::unsupported,
                 fmt::format("expected at most {} graph pools at a time, found one more",
                             max_shards - stream_shards),
                 "release the pools of graphs that are not replayed any more"};
  graph_pools_.push_back({pool, number, {}});
  return number;
}

void HeadroomAllocator::note_captured_streams() {
  std::vector<StreamId> streams;
  for (const GraphPool& each : graph_pools_)
    streams.insert(streams.end(), each.streams.begin(), each.streams.end());
  is_filling_pools_.store(!streams.empty(), std::memory_order_release);
  pool_.set_captured(std::move(streams));
}

Status HeadroomAllocator::begin_pool(PoolId pool, StreamId stream) {
  if (!pool_.is_ours()) return not_in_a_child();
  std::size_t number = 0;
  {
    const MutexLock lock(creation_mutex_);
    HEADROOM_TRY(number, pool_shard(pool));
  }
  Shard& filled = shard(number);
  {
    const MutexLock lock(filled.mutex());
    filled.remember_addresses(true);
  }
  const MutexLock lock(creation_mutex_);
  for (GraphPool& each : graph_pools_)
    if (each.id == pool) each.streams.push_back(stream);
  note_captured_streams();
  return Done{};
}

// Ends the filling of a pool and returns the number of its shard.
Result<std::size_t> HeadroomAllocator::stop_filling(PoolId pool) {
  if (!pool_.is_ours()) return not_in_a_child();
  const MutexLock lock(creation_mutex_);
  const auto found = std::find_if(graph_pools_.begin(), graph_pools_.end(),
                                  [&](const GraphPool& each) { return each.id == pool; });
  if (found == graph_pools_.end())
    return Error{
        Errc::invalid,
        fmt::format("expected a pool that was begun and not released yet, found pool {}", pool),
        "begin the pool before it is ended, and release it once"};
  found->streams.clear();
  note_captured_streams();
  return found->shard;
}

Status HeadroomAllocator::end_pool(PoolId pool) {
  HEADROOM_CHECK(stop_filling(pool));
  return Done{};
}

Status HeadroomAllocator::release_pool(PoolId pool) {
  HEADROOM_TRY(const std::size_t number, stop_filling(pool));
  {
    Shard& released = *existing(number);
    const MutexLock lock(released.mutex());
    released.remember_addresses(false);
    drain(released);
    static_cast<void>(released.give_up(capacity_bytes(), Shard::Plan::break_up));
  }
  // Only from here on may another pool have this shard.
  const MutexLock lock(creation_mutex_);
  std::erase_if(graph_pools_, [&](const GraphPool& each) { return each.id == pool; });
  return Done{};
}

}  // namespace headroom::allocator

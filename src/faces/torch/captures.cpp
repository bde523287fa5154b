// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/captures.h"

#include <algorithm>
#include <utility>

namespace headroom::torch_face {

void Captures::begin(PoolKey key, StreamFilter filter) {
  const MutexLock lock(mutex_);
  Pool& pool = pools_[key];
  if (pool.number == 0) pool.number = ++last_number_;
  ++pool.uses;
  if (!pool.filter) filling_.fetch_add(1, std::memory_order_release);
  pool.filter = std::move(filter);
}

void Captures::end(headroom_allocator* allocator, PoolKey key) {
  const MutexLock lock(mutex_);
  const auto found = pools_.find(key);
  if (found == pools_.end() || !found->second.filter) return;
  Pool& pool = found->second;
  pool.filter = nullptr;
  pool.streams.clear();
  filling_.fetch_sub(1, std::memory_order_release);
  if (pool.is_known) static_cast<void>(headroom_end_pool(allocator, pool.number));
}

void Captures::release(headroom_allocator* allocator, PoolKey key) {
  const MutexLock lock(mutex_);
  const auto found = pools_.find(key);
  if (found == pools_.end() || --found->second.uses > 0) return;
  const Pool pool = std::move(found->second);
  pools_.erase(found);
  if (pool.filter) filling_.fetch_sub(1, std::memory_order_release);
  if (pool.is_known) static_cast<void>(headroom_release_pool(allocator, pool.number));
}

void Captures::join(headroom_allocator* allocator, headroom_stream stream) {
  const MutexLock lock(mutex_);
  for (auto& [key, pool] : pools_) {
    const bool is_in = std::count(pool.streams.begin(), pool.streams.end(), stream) > 0;
    if (!pool.filter || is_in || !pool.filter(stream)) continue;
    if (headroom_begin_pool(allocator, pool.number, stream) != HEADROOM_OK) continue;
    pool.is_known = true;
    pool.streams.push_back(stream);
  }
}

}  // namespace headroom::torch_face

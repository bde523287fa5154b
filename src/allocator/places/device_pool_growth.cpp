// SPDX-License-Identifier: Apache-2.0
// How many pages new memory is taken in. A handle of many takes few calls and moves only as a
// whole: one block that lasts pins all of it. So large handles are for memory that is plenty, and
// for a job whose first iteration has shown which blocks lie together.
#include <algorithm>
#include <bit>

#include "allocator/places/device_pool.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t most_pages = 256;  // Per handle.

// After the first iteration a handle may have at most 1/steady_part of what is held.
constexpr std::uint64_t steady_part = 32;

// Free memory lies in pieces if more than 1/scattered_part of what is held is free where new memory
// is taken, and more than a few pages, which any job has. Then a handle has as many pages as the
// capacity has room for handles_in_reach times.
constexpr std::uint64_t scattered_part = 32;
constexpr std::uint64_t few_pages = 3;
constexpr std::uint64_t handles_in_reach = 128;

// Memory is plenty while less than 1/plenty_part of the capacity is held. Until then a handle may
// hold at most 1/growth_part of what is held then.
constexpr std::uint64_t plenty_part = 16;
constexpr std::uint64_t growth_part = 32;
constexpr std::uint64_t least_growth = 8;
constexpr std::uint64_t most_growth = 32;
// One handle must not be most of the plenty of a small capacity.
constexpr std::uint64_t handles_of_plenty = 4;
// The same for small blocks.
constexpr std::uint64_t small_plenty_part = 1024;
constexpr std::uint64_t small_growth_part = 128;
constexpr std::uint64_t least_small_growth = 2;
constexpr std::uint64_t most_small_growth = 8;

}  // namespace

void DevicePool::use_large_handles(std::uint64_t most) {
  const MutexLock lock(mutex_);
  set_most_per_handle(most);
}

void DevicePool::use_large_handles() {
  const MutexLock lock(mutex_);
  set_most_per_handle((created_ + plain_pages()) / steady_part);
}

void DevicePool::set_most_per_handle(std::uint64_t most) {
  if (!can_use_large_handles()) return;
  static_assert(most_pages == std::uint64_t{1} << (handle_sizes - 1));
  most_per_handle_ = std::bit_floor(std::clamp<std::uint64_t>(most, 1, most_pages));
}

DevicePool::Growth DevicePool::growth(std::uint64_t wanted, std::uint64_t free,
                                      bool for_small_blocks) const {
  const MutexLock lock(mutex_);
  const std::uint64_t held = created_ + plain_pages();
  Growth growth;
  growth.is_scattered = free > std::max(held / scattered_part, few_pages);
  if (!can_use_large_handles()) return growth;
  const std::uint64_t pages = std::bit_floor(
      for_small_blocks ? std::clamp(held / small_growth_part, least_small_growth, most_small_growth)
                       : std::clamp(held / growth_part, least_growth, most_growth));
  const std::uint64_t plenty =
      capacity_pages_ / (for_small_blocks ? small_plenty_part : plenty_part);
  growth.per_handle = most_per_handle_;
  if (pages <= plenty / handles_of_plenty && held + round_up(wanted, pages) <= plenty) {
    growth.multiple = pages;
    growth.per_handle = std::max(pages, most_per_handle_);
    return growth;
  }
  if (growth.is_scattered) {
    const std::uint64_t in_reach = std::max<std::uint64_t>(room() / handles_in_reach, 1);
    growth.per_handle = std::min(most_per_handle_, std::bit_floor(in_reach));
  }
  if (for_small_blocks) return growth;
  // What grows after the first iteration is likely to grow further, so it takes one handle where
  // exactly what is wanted would take several. The rest is free, and moves with the handle.
  const std::uint64_t steady = std::min(std::bit_ceil(wanted), growth.per_handle);
  const std::uint64_t in_use = held - unmapped_pages_;
  if (in_use + round_up(wanted, steady) <= capacity_pages_) growth.multiple = steady;
  return growth;
}

}  // namespace headroom::allocator

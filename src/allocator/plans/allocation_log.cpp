// SPDX-License-Identifier: Apache-2.0
#include "allocator/plans/allocation_log.h"

#include <array>

#include "allocator/places/segment.h"
#include "base/require.h"

namespace headroom::allocator {
namespace {

std::size_t hash_of(std::uint64_t bytes) {
  return static_cast<std::size_t>((bytes / granule_bytes * 0x9E3779B97F4A7C15U) >> 52U);  // 12 bits
}

}  // namespace

void AllocationLog::forget_before(std::uint64_t number) {
  if (number <= first_) return;
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(number - first_));
  first_ = number;
}

void AllocationLog::copy_since(std::uint64_t begin, Iteration& iteration) const {
  require(first_ <= begin && begin <= next(), "an iteration's first allocation is in the log");
  iteration.assign(blocks_.begin() + static_cast<std::ptrdiff_t>(begin - first_), blocks_.end());
  for (IterationBlock& block : iteration) {
    if (block.dies != IterationBlock::never) block.dies -= static_cast<std::uint32_t>(begin);
  }
}

bool AllocationLog::repeats(std::uint64_t since, std::uint64_t begin, std::uint64_t end) const {
  require(since <= begin && begin <= end && end <= next(), "what is compared follows each other");
  if (since < first_) return false;
  std::array<std::uint32_t, 4096> counts{};  // How many requests of each size, by the size's hash.
  for (std::uint64_t i = since; i < begin; ++i) ++counts[hash_of(block(i).bytes)];
  std::uint64_t known = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    std::uint32_t& count = counts[hash_of(block(i).bytes)];
    if (count == 0) continue;
    --count;
    ++known;
  }
  return known * 50 >= (end - begin) * 49;
}

}  // namespace headroom::allocator

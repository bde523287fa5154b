// SPDX-License-Identifier: Apache-2.0
#include "averager/arena.h"

#include <algorithm>

#include "averager/layout.h"

namespace headroom::averager {

std::optional<std::uint64_t> Arena::take(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > bytes_) return std::nullopt;
  const std::uint64_t wanted = Layout::rounded(std::max<std::uint64_t>(bytes, 1));
  std::uint64_t begin = 0;
  for (const auto& [offset, end] : used_) {
    if (offset - begin >= wanted) break;
    begin = end;
  }
  if (bytes_ - begin < wanted) return std::nullopt;
  used_.emplace(begin, begin + wanted);
  return begin;
}

bool Arena::give_back(std::uint64_t offset) {
  const MutexLock lock(mutex_);
  return used_.erase(offset) == 1;
}

bool Arena::holds(std::uint64_t offset, std::uint64_t bytes) const {
  const MutexLock lock(mutex_);
  const auto after = used_.upper_bound(offset);
  if (after == used_.begin()) return false;
  const auto part = std::prev(after);
  return offset < part->second && bytes <= part->second - offset;
}

std::uint64_t Arena::largest_free() const {
  const MutexLock lock(mutex_);
  std::uint64_t largest = 0;
  std::uint64_t begin = 0;
  for (const auto& [offset, end] : used_) {
    largest = std::max(largest, offset - begin);
    begin = end;
  }
  return std::max(largest, bytes_ - begin);
}

}  // namespace headroom::averager

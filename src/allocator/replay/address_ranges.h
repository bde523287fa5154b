// SPDX-License-Identifier: Apache-2.0
// A set of addresses, kept as contiguous stretches; adjacent stretches are merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/require.h"

namespace headroom::allocator {

class AddressRanges {
 public:
  // Adds [begin, end) and calls added(begin, end) for each part that was not in the set.
  template <class Added>
  void add(std::uint64_t begin, std::uint64_t end, Added&& added) {
    std::uint64_t at = begin;
    std::uint64_t joined_begin = begin;
    std::uint64_t joined_end = end;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) --next;
    while (next != ranges_.end() && next->first <= end) {
      if (at < next->first) added(at, next->first);
      at = std::max(at, next->second);
      joined_begin = std::min(joined_begin, next->first);
      joined_end = std::max(joined_end, next->second);
      bytes_ -= next->second - next->first;
      next = ranges_.erase(next);
    }
    if (at < end) added(at, end);
    ranges_.emplace(joined_begin, joined_end);
    bytes_ += joined_end - joined_begin;
  }

  // Requires: all of [begin, end) is in the set, and it is not empty.
  void remove(std::uint64_t begin, std::uint64_t end) {
    const auto after = ranges_.upper_bound(begin);
    require(begin < end && after != ranges_.begin() && end <= std::prev(after)->second,
            "what is removed from a set of addresses is all in it");
    const auto found = std::prev(after);
    const std::uint64_t found_end = found->second;
    if (found->first == begin) {
      ranges_.erase(found);
    } else {
      found->second = begin;
    }
    if (end < found_end) ranges_.emplace(end, found_end);
    bytes_ -= end - begin;
  }

  std::uint64_t bytes() const { return bytes_; }
  auto begin() const { return ranges_.begin(); }  // Iterates over pairs of begin and end.
  auto end() const { return ranges_.end(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
  std::uint64_t bytes_ = 0;
};

}  // namespace headroom::allocator

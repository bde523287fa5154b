// SPDX-License-Identifier: Apache-2.0
// A block of memory with a pattern in it that only this block has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocator/policy.h"

namespace headroom::allocator {

// SplitMix64: short, and the same on every machine.
class StressRandom {
 public:
  explicit StressRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  std::uint64_t below(std::uint64_t end) { return next() % end; }

 private:
  std::uint64_t state_;
};

struct FilledBlock {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;

  void fill() const {
    for_each_word([](std::uint64_t& word, std::uint64_t value) {
      word = value;
      return true;
    });
  }
  bool is_intact() const {
    return for_each_word(
        [](const std::uint64_t& word, std::uint64_t value) { return word == value; });
  }

 private:
  // A word of every 2 KiB, since what is lost is a page or a block, and the last one. Blocks are at
  // least 512 bytes, whatever was asked for.
  template <class Visit>
  bool for_each_word(Visit&& visit) const {
    const std::uint64_t words = std::max<std::uint64_t>(bytes, 8) / 8;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* start = reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(address));
    for (std::uint64_t i = 0; i < words; i += 256)
      if (!visit(start[i], seed + i)) return false;
    return visit(start[words - 1], seed + words - 1);
  }
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// A device for the models of other allocators: it grants and takes back amounts of memory, up to a
// capacity of whole 2 MiB units, and counts the calls.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace headroom::allocator {

class CountingDevice {
 public:
  static constexpr std::uint64_t unit_bytes = std::uint64_t{2} << 20U;

  // What it costs to take memory and to give it back: nanoseconds, and how many calls that takes.
  struct Costs {
    std::uint64_t take = 0;
    std::uint64_t give_back = 0;
    std::uint64_t calls_to_take = 1;
    std::uint64_t calls_to_give_back = 1;
  };

  CountingDevice(std::uint64_t capacity_bytes, Costs costs)
      : capacity_(round_down(capacity_bytes, unit_bytes)), costs_(costs) {}

  // Returns false and takes nothing if the capacity does not allow it.
  bool take(std::uint64_t bytes) {
    ns_ += costs_.take;
    const bool is_granted = bytes <= capacity_ - used_;
    calls_ += is_granted ? costs_.calls_to_take : 1;
    if (is_granted) used_ += bytes;
    return is_granted;
  }
  void give_back(std::uint64_t bytes) {
    calls_ += costs_.calls_to_give_back;
    ns_ += costs_.give_back;
    used_ -= bytes;
  }
  // Counts a call that neither takes nor gives back.
  void note_call(std::uint64_t ns) {
    ++calls_;
    ns_ += ns;
  }

  std::uint64_t capacity_bytes() const { return capacity_; }
  std::uint64_t used_bytes() const { return used_; }
  std::uint64_t calls() const { return calls_; }
  std::uint64_t ns() const { return ns_; }

 private:
  std::uint64_t capacity_;
  Costs costs_;
  std::uint64_t used_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t ns_ = 0;
};

}  // namespace headroom::allocator

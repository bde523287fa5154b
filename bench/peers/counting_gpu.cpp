// SPDX-License-Identifier: Apache-2.0
#include "counting_gpu.h"

#include "base/bytes.h"

namespace headroom::peers {

CountingGpu& counting_gpu() {
  static CountingGpu gpu;
  return gpu;
}

void CountingGpu::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = round_down(bytes, unit_bytes);
}

void CountingGpu::count_call(std::uint64_t cost_ns) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  ns_ += cost_ns;
}

std::uint64_t CountingGpu::take(std::uint64_t bytes, std::uint64_t cost_ns) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  ns_ += cost_ns;
  // The first comparison keeps the rounding from an overflow: the capacity is in whole units.
  if (bytes > capacity_ || round_up(bytes, unit_bytes) > capacity_ - used_) {
    ++refusals_;
    return 0;
  }
  const std::uint64_t whole = round_up(bytes, unit_bytes);
  used_ += whole;
  const std::uint64_t address = next_address_;
  next_address_ += whole;
  taken_.emplace(address, whole);
  return address;
}

bool CountingGpu::give_back(std::uint64_t address, std::uint64_t cost_ns) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  ns_ += cost_ns;
  const auto found = taken_.find(address);
  if (found == taken_.end()) return false;
  used_ -= found->second;
  taken_.erase(found);
  return true;
}

std::uint64_t CountingGpu::reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  ns_ += assumed_costs.reserve;
  const std::uint64_t address = next_address_;
  next_address_ += round_up(bytes, unit_bytes);
  return address;
}

}  // namespace headroom::peers

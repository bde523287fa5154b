// SPDX-License-Identifier: Apache-2.0
// The GPU under PyTorch's allocator: it hands out addresses and amounts in whole 2 MiB units up to
// a capacity, counts the calls, and has no memory. cuda_runtime.cpp and cuda_driver.cpp are its two
// faces.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "allocator/assumed_costs.h"

namespace headroom::peers {

class CountingGpu {
 public:
  static constexpr std::uint64_t unit_bytes = std::uint64_t{2} << 20U;

  // Requires: nothing is taken.
  void set_capacity(std::uint64_t bytes);
  std::uint64_t capacity_bytes() const { return capacity_; }
  std::uint64_t used_bytes() const { return used_; }
  // What a program would ask of the driver: allocate, free, reserve, create, map, set access,
  // unmap, release, synchronise. Questions (which device, any error) are not counted.
  std::uint64_t calls() const { return calls_; }
  // What they are taken to cost, at the prices that our simulated device has.
  std::uint64_t ns() const { return ns_; }
  void count_call(std::uint64_t cost_ns);
  // Times that take() returned 0.
  std::uint64_t refusals() const { return refusals_; }

  // Memory by plain allocation, or a page of virtual memory: an address or handle that was never
  // used before, so rising; 0 where the capacity does not allow it.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t cost_ns);
  // False, and nothing done, if take() never returned it or it was given back.
  bool give_back(std::uint64_t address, std::uint64_t cost_ns);
  // Addresses without memory.
  std::uint64_t reserve(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::uint64_t capacity_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t ns_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t next_address_ = std::uint64_t{1} << 32U;
  std::unordered_map<std::uint64_t, std::uint64_t> taken_;  // Address → bytes.
};

using allocator::assumed_costs;

// The only one: CUDA's functions have no object to belong to.
CountingGpu& counting_gpu();

}  // namespace headroom::peers

// SPDX-License-Identifier: Apache-2.0
// Memory for many small objects of one owner, which come and go in no order: a list of free blocks
// for each size, cut from large chunks. One thread; everything goes with the pool.
// In its place std::pmr::unsynchronized_pool_resource took half as long again for the recording of
// a step (bench/plan_bench.cpp), whose objects it holds.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace headroom {

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Aligned as operator new's; never null.
  void* take(std::size_t bytes) {
    const std::size_t size = (bytes + step - 1) / step;
    if (size >= free_.size()) return ::operator new(bytes);
    if (Free* block = free_[size]) {
      free_[size] = block->next;
      return block;
    }
    return cut(size * step);
  }
  // Requires: take(bytes) gave it.
  void give_back(void* block, std::size_t bytes) {
    const std::size_t size = (bytes + step - 1) / step;
    if (size >= free_.size()) return ::operator delete(block);
    free_[size] = ::new (block) Free{free_[size]};
  }

 private:
  static constexpr std::size_t step = 32;
  static constexpr std::size_t sizes = 64;  // Larger ones are the heap's.
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 10U;

  struct Free {
    Free* next;
  };

  void* cut(std::size_t bytes) {
    if (left_ < bytes) {
      // Not zeroed: a page that is never used is never touched.
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));  // NOLINT
      next_ = chunks_.back().get();
      left_ = chunk_bytes;
    }
    std::byte* block = next_;
    next_ += bytes;
    left_ -= bytes;
    return block;
  }

  std::array<Free*, sizes> free_{};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  // NOLINT: raw memory
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
// Blocks that lie side by side in regions of memory, and the best fit among the free ones: what the
// models of slab allocators have in common. Free neighbours are always one block.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "allocator/component.h"
#include "allocator/models/sorted_blocks.h"
#include "allocator/policy.h"

namespace headroom::allocator {

struct PackedBlock {
  Address address = 0;
  std::uint64_t bytes = 0;
  PackedBlock* prev = nullptr;  // Neighbours by address, within the region.
  PackedBlock* next = nullptr;
  Component tag = Component::other;
  bool used = false;

  bool is_whole_region() const { return prev == nullptr && next == nullptr; }
};

class PackedBlocks {
 public:
  // One free block. Requires: no region has these addresses.
  PackedBlock* add_region(Address address, std::uint64_t bytes);
  // A free block behind the last one of a region. Requires: `last` is that, and is used.
  PackedBlock* append(PackedBlock* last, std::uint64_t bytes);
  // Shortens a region by its last block, or ends it. Requires: `block` is that, and is free.
  void remove(PackedBlock* block);

  // The smallest free block of at least so many bytes, the lowest among equals; or null.
  PackedBlock* best_fit(std::uint64_t bytes) const {
    return free_.at(free_.lower_bound({bytes, 0}));
  }
  // Makes a free block a used one, of its first `bytes` alone; the rest stays free.
  void occupy(PackedBlock* block, std::uint64_t bytes);
  // Makes a used block free and joins it with its free neighbours; returns the result.
  PackedBlock* release(PackedBlock* block);

  // By size; whoever walks them may change the blocks on the way.
  std::vector<PackedBlock*> free_blocks() const { return free_.all(); }

 private:
  PackedBlock* make(const PackedBlock& block);
  void absorb_next(PackedBlock* block);
  void insert_free(PackedBlock* block) { free_.insert({block->bytes, block->address}, block); }
  void erase_free(PackedBlock* block) { free_.erase(BlockKey{block->bytes, block->address}); }

  std::deque<PackedBlock> blocks_;  // Owns them; never moves them.
  std::vector<PackedBlock*> dropped_;
  SortedBlocks<PackedBlock> free_;  // By (bytes, address).
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// Blocks that lie side by side in regions of memory, with a search for the best fit among the free
// ones; the models of slab allocators share this. Free neighbours are always merged into one block.
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
  // Adds a region that is one free block. Requires: no region has these addresses.
  PackedBlock* add_region(Address address, std::uint64_t bytes);
  // Adds a free block after the last block of a region. Requires: `last` is that block, and is
  // used.
  PackedBlock* append(PackedBlock* last, std::uint64_t bytes);
  // Shortens a region by its last block, or removes the region if it has no other. Requires:
  // `block` is the last one, and is free.
  void remove(PackedBlock* block);

  // The smallest free block of at least `bytes`, with the lowest address among equals; null if
  // there is none.
  PackedBlock* best_fit(std::uint64_t bytes) const {
    return free_.at(free_.lower_bound({bytes, 0}));
  }
  // Makes the first `bytes` of a free block a used block; the rest stays free.
  void occupy(PackedBlock* block, std::uint64_t bytes);
  // Frees a used block, merges it with its free neighbours and returns the result.
  PackedBlock* release(PackedBlock* block);

  // A list in order of size, which stays valid while blocks change.
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

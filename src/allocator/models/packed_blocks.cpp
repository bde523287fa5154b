// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/packed_blocks.h"

#include "base/require.h"

namespace headroom::allocator {

PackedBlock* PackedBlocks::make(const PackedBlock& block) {
  if (dropped_.empty()) return &blocks_.emplace_back(block);
  PackedBlock* made = dropped_.back();
  dropped_.pop_back();
  *made = block;
  return made;
}

PackedBlock* PackedBlocks::add_region(Address address, std::uint64_t bytes) {
  PackedBlock* block = make({address, bytes});
  insert_free(block);
  return block;
}

PackedBlock* PackedBlocks::append(PackedBlock* last, std::uint64_t bytes) {
  require(last->next == nullptr && last->used, "a region grows behind its last block, a used one");
  last->next = make({last->address + last->bytes, bytes, last});
  insert_free(last->next);
  return last->next;
}

void PackedBlocks::remove(PackedBlock* block) {
  require(block->next == nullptr && !block->used, "a region shrinks by its last block, a free one");
  erase_free(block);
  if (block->prev != nullptr) block->prev->next = nullptr;
  dropped_.push_back(block);
}

void PackedBlocks::occupy(PackedBlock* block, std::uint64_t bytes) {
  erase_free(block);
  block->used = true;
  if (bytes == block->bytes) return;
  PackedBlock* rest = make({block->address + bytes, block->bytes - bytes, block, block->next});
  if (rest->next != nullptr) rest->next->prev = rest;
  block->next = rest;
  block->bytes = bytes;
  insert_free(rest);
}

PackedBlock* PackedBlocks::release(PackedBlock* block) {
  block->used = false;
  PackedBlock* next = block->next;
  if (next != nullptr && !next->used) {
    erase_free(next);
    absorb_next(block);
  }
  PackedBlock* prev = block->prev;
  if (prev != nullptr && !prev->used) {
    erase_free(prev);
    absorb_next(prev);
    block = prev;
  }
  insert_free(block);
  return block;
}

// Requires: neither of the two is among the free ones.
void PackedBlocks::absorb_next(PackedBlock* block) {
  PackedBlock* next = block->next;
  block->bytes += next->bytes;
  block->next = next->next;
  if (block->next != nullptr) block->next->prev = block;
  dropped_.push_back(next);
}

}  // namespace headroom::allocator

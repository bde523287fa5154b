// SPDX-License-Identifier: Apache-2.0
// PyTorch's native caching allocator (c10/cuda/CUDACachingAllocator.cpp, 1.13 to 2.6, default
// options) over a counting device, so that "would PyTorch have finished?" is answered by its own
// rules: 512-byte rounding; requests up to 1 MiB from 2 MiB segments; below 10 MiB from 20 MiB
// segments; larger ones from a segment of their own, rounded to 2 MiB; best fit by (size, address)
// per stream; the rest of a large block is split off only above 1 MiB; on refusal all unsplit
// cached segments go back and the device is asked once more.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "allocator/address_map.h"
#include "allocator/counting_device.h"
#include "allocator/policy.h"
#include "allocator/sorted_blocks.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

// What PyTorch asks the device for where no cached block serves a request of `bytes`: the size that
// its message "Tried to allocate …" prints.
std::uint64_t torch_segment_bytes(std::uint64_t bytes);

class TorchPolicy : public Policy {
 public:
  explicit TorchPolicy(std::uint64_t capacity_bytes) : device_(capacity_bytes) {}

  std::optional<Address> allocate(const Request& request) final;
  void free(Address address) final;
  void retag(Address address, Component tag) final;
  void synchronize(StreamId stream) final;  // PyTorch keeps a block for its stream for good.
  const Usage& usage() const final { return tracker_.usage(); }
  std::string_view name() const override { return "torch"; }

 protected:
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
    StreamId stream = 0;
    Component tag = Component::other;
    bool small = false;
    bool allocated = false;
    bool mapped = true;     // False only in expandable segments.
    Block* prev = nullptr;  // Neighbours by address, within the segment.
    Block* next = nullptr;
  };
  struct Stream {
    StreamId id = 0;
    SortedBlocks<Block> free;      // By (bytes, address).
    SortedBlocks<Block> unmapped;  // By address.
  };
  struct Pool {
    bool small = false;
    std::vector<Stream> streams = {};  // By id; PyTorch never joins them.

    Stream& of(StreamId id);
    void insert_free(Block* block) { of(block->stream).free.insert(size_key(*block), block); }
    void erase_free(Block* block) { of(block->stream).free.erase(size_key(*block)); }
    void insert_unmapped(Block* b) { of(b->stream).unmapped.insert({b->address, 0}, b); }
    void erase_unmapped(Block* block) { of(block->stream).unmapped.erase({block->address, 0}); }
  };
  static BlockKey size_key(const Block& block) { return {block.bytes, block.address}; }

  // What expandable segments do differently.
  virtual Block* best_fit(Pool& pool, std::uint64_t bytes, StreamId stream);
  virtual Block* block_from_device(Pool& pool, std::uint64_t bytes, StreamId stream);
  virtual bool splits(const Block& block, std::uint64_t bytes) const;
  virtual void release_cached(Pool& pool);

  Block* make_block(const Block& block);
  void drop_block(Block* block);
  // Makes the first `bytes` a block of its own before `block`; returns it.
  Block* split_front(Block* block, std::uint64_t bytes);
  // Joins `block` with a neighbour that is free and mapped alike; the neighbour leaves its set.
  void merge(Pool& pool, Block* block, Block* neighbour);
  Pool& pool_of(const Block& block) { return block.small ? small_ : large_; }

  CountingDevice device_;
  Address next_address_ = std::uint64_t{1} << 32U;

 private:
  void note_device();

  std::deque<Block> blocks_;  // Owns them; never moves them.
  std::vector<Block*> dropped_;
  Pool small_{true};
  Pool large_{false};
  AddressTable<Block*, nullptr> live_;
  UsageTracker tracker_;
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// PyTorch's native caching allocator (c10/cuda/CUDACachingAllocator.cpp, 1.13 to 2.6, default
// options) over a counting device, so that "would PyTorch have finished?" is answered by its own
// rules. Sizes are rounded to 512 bytes. Requests up to 1 MiB come from 2 MiB segments, requests
// below 10 MiB from 20 MiB segments, and larger ones from a segment of their own, rounded to 2 MiB.
// Each stream uses best fit by (size, address). The rest of a large block is split off only if it
// is above 1 MiB. When the device refuses, all unsplit cached segments go back and the device is
// asked once more.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "allocator/assumed_costs.h"
#include "allocator/models/counting_device.h"
#include "allocator/models/sorted_blocks.h"
#include "allocator/places/address_map.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

// How much PyTorch asks the device for if no cached block serves a request of `bytes`; its message
// "Tried to allocate …" prints this size.
std::uint64_t torch_segment_bytes(std::uint64_t bytes);

class TorchPolicy : public Policy {
 public:
  explicit TorchPolicy(std::uint64_t capacity_bytes)
      : TorchPolicy(capacity_bytes, {assumed_costs.allocate, assumed_costs.release}) {}

  std::optional<Address> allocate(const Request& request) final;
  void free(Address address) final;
  void retag(Address address, Component tag) final;
  // Does nothing: PyTorch keeps a block for its stream for good.
  void synchronize(StreamId stream) final;
  const Usage& usage() const final { return tracker_.usage(); }
  std::string_view name() const override { return "torch"; }

 protected:
  struct Stream;
  struct Block {
    Address address = 0;
    std::uint64_t bytes = 0;
    Stream* stream = nullptr;
    Block* prev = nullptr;  // Neighbours by address, within the segment.
    Block* next = nullptr;
    Component tag = Component::other;
    bool allocated = false;
    bool mapped = true;  // False only in expandable segments.
  };
  // The blocks of one stream in one pool; PyTorch never merges streams.
  struct Stream {
    StreamId id = 0;
    bool small = false;                 // Whether this is in the small pool.
    SortedBlocks<Block> free = {};      // By (bytes, address).
    SortedBlocks<Block> unmapped = {};  // By address.

    void insert_free(Block* block) { free.insert({block->bytes, block->address}, block); }
    void erase_free(Block* block) { free.erase(BlockKey{block->bytes, block->address}); }
    void insert_unmapped(Block* block) { unmapped.insert({block->address, 0}, block); }
    void erase_unmapped(Block* block) { unmapped.erase(BlockKey{block->address, 0}); }
  };
  using Place = SortedBlocks<Block>::Position;
  struct Pool {
    bool small = false;
    std::vector<std::unique_ptr<Stream>> streams = {};  // By id.

    Stream& of(StreamId id);
  };

  TorchPolicy(std::uint64_t capacity_bytes, CountingDevice::Costs costs)
      : device_(capacity_bytes, costs) {}

  // Expandable segments override these functions. best_fit() returns the position of the free block
  // for a request, or one whose at() is null.
  virtual Place best_fit(const Stream& stream, std::uint64_t bytes) const;
  virtual Block* block_from_device(Stream& stream, std::uint64_t bytes);
  virtual bool splits(const Block& block, std::uint64_t bytes) const;
  virtual void release_cached(Pool& pool);

  Block* make_block(const Block& block);
  void drop_block(Block* block);
  // Splits the first `bytes` off into a block of their own before `block`; returns it.
  Block* split_front(Block* block, std::uint64_t bytes);
  // Merges `block` with a free neighbour that is mapped or unmapped like it; the neighbour leaves
  // its set.
  void merge(Block* block, Block* neighbour);

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

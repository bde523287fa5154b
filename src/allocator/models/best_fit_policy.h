// SPDX-License-Identifier: Apache-2.0
// What a job would need if all its memory were one slab and nothing could be moved. The slab is
// taken at the start; blocks are placed by best fit in (size, address), and free neighbours merge
// at once. Memory above the highest block in use is touched only if no free place between blocks
// will do, so the size of the slab does not change where blocks lie. Streams are not told apart.
#pragma once

#include <cstdint>

#include "allocator/models/packed_blocks.h"
#include "allocator/places/address_map.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

// Reserved bytes are how far into the slab blocks ever reached, in the device's units.
class BestFitPolicy final : public Policy {
 public:
  explicit BestFitPolicy(std::uint64_t capacity_bytes);

  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return tracker_.usage(); }
  std::string_view name() const override { return "best-fit"; }

 private:
  PackedBlock* lengthen(std::uint64_t bytes);

  std::uint64_t capacity_;
  std::uint64_t top_ = 0;        // The offset where the last block in use ends.
  PackedBlock* last_ = nullptr;  // The last block in use; null if there is none.
  PackedBlocks blocks_;
  AddressTable<PackedBlock*, nullptr> live_;
  UsageTracker tracker_;
};

}  // namespace headroom::allocator

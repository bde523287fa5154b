// SPDX-License-Identifier: Apache-2.0
// One slab that the device gave at the start, best fit by (size, address), and free neighbours that
// join at once: what a job would need if all its memory were one piece and nothing could be moved.
// What lies above the highest block in use is cut into only where no free place between blocks will
// do, so a slab of another size would be filled in the same way as far as it goes. Streams are not
// told apart.
#pragma once

#include <cstdint>

#include "allocator/models/packed_blocks.h"
#include "allocator/places/address_map.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

// Reserved is how far into the slab blocks ever reached, in the device's units.
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
  std::uint64_t top_ = 0;        // Where the last block in use ends, from the start of the slab.
  PackedBlock* last_ = nullptr;  // The one that ends there; null if none is in use.
  PackedBlocks blocks_;
  AddressTable<PackedBlock*, nullptr> live_;
  UsageTracker tracker_;
};

}  // namespace headroom::allocator

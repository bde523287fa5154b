// SPDX-License-Identifier: Apache-2.0
// Counts live bytes and nothing else: it has no fragmentation and no pages. No allocator can need
// less, so the others are compared with it.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/places/address_map.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

class ExactPolicy final : public Policy {
 public:
  explicit ExactPolicy(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return tracker_.usage(); }
  std::string_view name() const override { return "exact"; }

 private:
  struct Block {
    std::uint64_t bytes;
    Component tag;
  };
  static constexpr std::uint32_t no_block = UINT32_MAX;

  std::uint32_t keep(const Block& block);

  std::uint64_t capacity_;
  Address next_address_ = 512;
  AddressTable<std::uint32_t, no_block> blocks_;  // Address → index in kept_.
  std::vector<Block> kept_;
  std::vector<std::uint32_t> unused_;  // Free indexes in kept_.
  UsageTracker tracker_;
};

}  // namespace headroom::allocator

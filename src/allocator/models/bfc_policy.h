// SPDX-License-Identifier: Apache-2.0
// TensorFlow's "best fit with coalescing" allocator
// (tensorflow/core/common_runtime/bfc_allocator.cc, the one that XLA and so JAX took over) over a
// counting device, with the options that do not reserve the whole card: allow_growth
// (XLA_PYTHON_CLIENT_PREALLOCATE=false) and garbage collection of idle regions, TensorFlow's
// default for GPUs. Its rules: 256-byte granules; the smallest free chunk that is large enough, the
// lowest among equals; a chunk is split where it is at least twice the request or would waste 128
// MiB; free neighbours merge at once, within their region. Regions come from the device: 2 MiB at
// first, then twice the one before, doubled further if the request needs it, and never more than
// the capacity leaves. If that is not enough, regions without live chunks go back, and the device
// is asked once more.
//
// TensorFlow sorts free chunks into 21 bins of 256 B·2^k. Within a bin it takes them by (size,
// address), and bins are ordered by size, so one order over all of them answers the same.
// It has one compute stream: streams are not told apart here.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/assumed_costs.h"
#include "allocator/models/counting_device.h"
#include "allocator/models/packed_blocks.h"
#include "allocator/places/address_map.h"
#include "allocator/policy.h"
#include "allocator/usage_tracker.h"

namespace headroom::allocator {

class BfcPolicy final : public Policy {
 public:
  explicit BfcPolicy(std::uint64_t capacity_bytes)
      : device_(capacity_bytes, {assumed_costs.allocate, assumed_costs.release}) {}

  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return tracker_.usage(); }
  std::string_view name() const override { return "bfc"; }

 private:
  static constexpr std::uint64_t first_region_bytes = std::uint64_t{2} << 20U;

  bool extend(std::uint64_t bytes);
  bool release_idle_regions(std::uint64_t bytes);

  CountingDevice device_;
  Address next_address_ = std::uint64_t{1} << 32U;
  // The next region's size, if the capacity allows it.
  std::uint64_t region_bytes_ = first_region_bytes;
  PackedBlocks blocks_;
  AddressTable<PackedBlock*, nullptr> live_;
  UsageTracker tracker_;
};

}  // namespace headroom::allocator

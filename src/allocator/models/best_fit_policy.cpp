// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/best_fit_policy.h"

#include <algorithm>

#include "allocator/assumed_costs.h"
#include "allocator/models/counting_device.h"
#include "allocator/places/segment.h"
#include "base/bytes.h"

namespace headroom::allocator {
namespace {

constexpr Address slab_address = std::uint64_t{1} << 32U;

}  // namespace

BestFitPolicy::BestFitPolicy(std::uint64_t capacity_bytes)
    : capacity_(round_down(capacity_bytes, CountingDevice::unit_bytes)) {}

std::optional<Address> BestFitPolicy::allocate(const Request& request) {
  if (request.bytes > capacity_) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  PackedBlock* block = blocks_.best_fit(bytes);
  if (block == nullptr) block = lengthen(bytes);
  if (block == nullptr) return std::nullopt;
  blocks_.occupy(block, bytes);
  block->tag = request.tag;
  live_.insert(block->address, block);
  tracker_.add_live(block->tag, block->bytes);
  return block->address;
}

PackedBlock* BestFitPolicy::lengthen(std::uint64_t bytes) {
  if (bytes > capacity_ - top_) return nullptr;
  last_ = last_ == nullptr ? blocks_.add_region(slab_address, bytes) : blocks_.append(last_, bytes);
  top_ += bytes;
  const std::uint64_t reached = round_up(top_, CountingDevice::unit_bytes);
  tracker_.set_reserved(std::max(tracker_.usage().reserved_bytes, reached));
  tracker_.set_device_calls(1, assumed_costs.allocate);
  return last_;
}

void BestFitPolicy::free(Address address) {
  PackedBlock* block = live_.take(address);
  if (block == nullptr) return;
  tracker_.remove_live(block->tag, block->bytes);
  block = blocks_.release(block);
  if (block->next != nullptr) return;
  top_ -= block->bytes;
  last_ = block->prev;
  blocks_.remove(block);
}

void BestFitPolicy::retag(Address address, Component tag) {
  PackedBlock* block = live_.find(address);
  if (block == nullptr) return;
  tracker_.move_live(block->tag, tag, block->bytes);
  block->tag = tag;
}

void BestFitPolicy::synchronize(StreamId /*stream*/) {}

}  // namespace headroom::allocator

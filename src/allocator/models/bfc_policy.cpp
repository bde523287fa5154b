// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/bfc_policy.h"

#include <algorithm>

namespace headroom::allocator {
namespace {

// kMinAllocationSize and kMaxInternalFragmentation of bfc_allocator.
constexpr std::uint64_t granule = 256;
constexpr std::uint64_t largest_waste = std::uint64_t{128} << 20U;

bool splits(const PackedBlock& block, std::uint64_t bytes) {
  return block.bytes >= 2 * bytes || block.bytes - bytes >= largest_waste;
}

}  // namespace

std::optional<Address> BfcPolicy::allocate(const Request& request) {
  if (request.bytes > device_.capacity_bytes()) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule), granule);
  PackedBlock* block = blocks_.best_fit(bytes);
  if (block == nullptr) {
    if (extend(bytes) || (release_idle_regions(bytes) && extend(bytes)))
      block = blocks_.best_fit(bytes);
    tracker_.set_reserved(device_.used_bytes());
    tracker_.set_device_calls(device_.calls(), device_.ns());
    if (block == nullptr) return std::nullopt;
  }
  blocks_.occupy(block, splits(*block, bytes) ? bytes : block->bytes);
  block->tag = request.tag;
  live_.insert(block->address, block);
  tracker_.add_live(block->tag, block->bytes);
  return block->address;
}

void BfcPolicy::free(Address address) {
  PackedBlock* block = live_.take(address);
  if (block == nullptr) return;
  tracker_.remove_live(block->tag, block->bytes);
  blocks_.release(block);
}

void BfcPolicy::retag(Address address, Component tag) {
  PackedBlock* block = live_.find(address);
  if (block == nullptr) return;
  tracker_.move_live(block->tag, tag, block->bytes);
  block->tag = tag;
}

void BfcPolicy::synchronize(StreamId /*stream*/) {}

bool BfcPolicy::extend(std::uint64_t bytes) {
  const std::uint64_t left = device_.capacity_bytes() - device_.used_bytes();
  if (bytes > left) return false;
  bool grown = false;
  while (bytes > region_bytes_) {
    region_bytes_ *= 2;
    grown = true;
  }
  const std::uint64_t region = std::min(region_bytes_, left);
  if (!device_.take(region)) return false;
  if (!grown) region_bytes_ *= 2;
  blocks_.add_region(next_address_, region);
  next_address_ += region;
  return true;
}

bool BfcPolicy::release_idle_regions(std::uint64_t bytes) {
  std::vector<PackedBlock*> idle = blocks_.free_blocks();
  std::erase_if(idle, [](const PackedBlock* block) { return !block->is_whole_region(); });
  std::uint64_t left = device_.capacity_bytes() - device_.used_bytes();
  for (const PackedBlock* block : idle) left += block->bytes;
  if (idle.empty() || bytes > left) return false;
  for (PackedBlock* block : idle) {
    device_.give_back(block->bytes);
    blocks_.remove(block);
  }
  return true;
}

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/exact_policy.h"

#include <algorithm>

#include "allocator/segment.h"
#include "base/bytes.h"

namespace headroom::allocator {

std::optional<Address> ExactPolicy::allocate(const Request& request) {
  const std::uint64_t left = capacity_ - tracker_.usage().live_bytes;
  if (request.bytes > left) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  if (bytes > left) return std::nullopt;
  const Address address = next_address_;
  next_address_ += bytes;
  blocks_.emplace(address, Block{bytes, request.tag});
  tracker_.add_live(request.tag, bytes);
  tracker_.set_reserved(tracker_.usage().live_bytes);
  return address;
}

void ExactPolicy::free(Address address) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return;
  tracker_.remove_live(block->second.tag, block->second.bytes);
  tracker_.set_reserved(tracker_.usage().live_bytes);
  blocks_.erase(block);
}

void ExactPolicy::retag(Address address, Component tag) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return;
  tracker_.move_live(block->second.tag, tag, block->second.bytes);
  block->second.tag = tag;
}

void ExactPolicy::synchronize(StreamId /*stream*/) {}

}  // namespace headroom::allocator

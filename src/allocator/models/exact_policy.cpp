// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/exact_policy.h"

#include <algorithm>

#include "allocator/places/segment.h"
#include "base/bytes.h"

namespace headroom::allocator {

std::optional<Address> ExactPolicy::allocate(const Request& request) {
  const std::uint64_t left = capacity_ - tracker_.usage().live_bytes;
  if (request.bytes > left) return std::nullopt;
  const std::uint64_t bytes = round_up(std::max(request.bytes, granule_bytes), granule_bytes);
  if (bytes > left) return std::nullopt;
  const Address address = next_address_;
  next_address_ += bytes;
  blocks_.insert(address, keep({bytes, request.tag}));
  tracker_.add_live(request.tag, bytes);
  tracker_.set_reserved(tracker_.usage().live_bytes);
  return address;
}

std::uint32_t ExactPolicy::keep(const Block& block) {
  if (unused_.empty()) {
    kept_.push_back(block);
    return static_cast<std::uint32_t>(kept_.size() - 1);
  }
  const std::uint32_t number = unused_.back();
  unused_.pop_back();
  kept_[number] = block;
  return number;
}

void ExactPolicy::free(Address address) {
  const std::uint32_t number = blocks_.find(address);
  if (number == no_block) return;
  tracker_.remove_live(kept_[number].tag, kept_[number].bytes);
  tracker_.set_reserved(tracker_.usage().live_bytes);
  blocks_.erase(address);
  unused_.push_back(number);
}

void ExactPolicy::retag(Address address, Component tag) {
  const std::uint32_t number = blocks_.find(address);
  if (number == no_block) return;
  tracker_.move_live(kept_[number].tag, tag, kept_[number].bytes);
  kept_[number].tag = tag;
}

void ExactPolicy::synchronize(StreamId /*stream*/) {}

}  // namespace headroom::allocator

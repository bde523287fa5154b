// SPDX-License-Identifier: Apache-2.0
// The last allocations of a job, in order, each with its size and when it was freed. An iteration
// is cut out of this log once it is known where it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/plans/iteration.h"

namespace headroom::allocator {

// Not thread-safe: the owner protects it.
class AllocationLog {
 public:
  // The number of the next allocation; the first allocation has number 0.
  std::uint64_t next() const { return first_ + blocks_.size(); }
  // The number of the oldest allocation in the log.
  std::uint64_t first() const { return first_; }
  std::size_t size() const { return blocks_.size(); }

  // Returns the allocation's number.
  std::uint64_t note_allocate(std::uint64_t bytes, StreamId stream) {
    const std::uint64_t number = next();
    blocks_.push_back({bytes, stream, IterationBlock::never});
    return number;
  }
  // Ignores the free of an allocation that was forgotten already.
  void note_free(std::uint64_t number) {
    if (number >= first_) blocks_[number - first_].dies = static_cast<std::uint32_t>(next());
  }

  // Takes time in proportion to what is left, so call it when there is at least as much to forget
  // as to keep.
  void forget_before(std::uint64_t number);

  // The allocations from `begin` on, whose `dies` has no meaning here; empty if some of them were
  // forgotten.
  std::span<const IterationBlock> from(std::uint64_t begin) const {
    if (begin < first_) return {};
    return std::span(blocks_).subspan(static_cast<std::size_t>(begin - first_));
  }

  // Makes `iteration` everything from `begin` on, as an iteration that ends now. Requires:
  // first() <= begin <= next().
  void copy_since(std::uint64_t begin, Iteration& iteration) const;
  // Whether almost all requests from `begin` up to `end` were made as often between `since` and
  // `begin` as well. False if some of them were forgotten. Requires: since <= begin <= end <=
  // next().
  bool repeats(std::uint64_t since, std::uint64_t begin, std::uint64_t end) const;

 private:
  const IterationBlock& block(std::uint64_t number) const { return blocks_[number - first_]; }

  std::uint64_t first_ = 0;
  // `dies` has the lower 32 bits of an allocation's number, which is enough: two allocations in the
  // log are never 2^32 apart.
  std::vector<IterationBlock> blocks_;
};

}  // namespace headroom::allocator

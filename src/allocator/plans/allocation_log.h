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

  void note_allocate(std::uint64_t bytes, StreamId stream) {
    blocks_.push_back({bytes, stream, IterationBlock::never});
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

  // Both require first() <= since <= begin <= next(). since() returns everything from `begin` on,
  // as an iteration that ends now.
  Iteration since(std::uint64_t begin) const;
  // Whether almost all requests from `begin` on were made as often between `since` and `begin` as
  // well.
  bool repeats(std::uint64_t begin, std::uint64_t since) const;

 private:
  const IterationBlock& block(std::uint64_t number) const { return blocks_[number - first_]; }

  std::uint64_t first_ = 0;
  // `dies` has the lower 32 bits of an allocation's number, which is enough: two allocations in the
  // log are never 2^32 apart.
  std::vector<IterationBlock> blocks_;
};

}  // namespace headroom::allocator

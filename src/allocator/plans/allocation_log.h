// SPDX-License-Identifier: Apache-2.0
// The last allocations of a job, in order, each with its size and when it was freed: what an
// iteration is cut out of once it is known where it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/plans/iteration.h"

namespace headroom::allocator {

// Not thread-safe: whoever owns it protects it.
class AllocationLog {
 public:
  // The number of the next allocation; the first one's is 0.
  std::uint64_t next() const { return first_ + blocks_.size(); }
  // The number of the oldest one that is kept.
  std::uint64_t first() const { return first_; }
  std::size_t size() const { return blocks_.size(); }

  void note_allocate(std::uint64_t bytes, StreamId stream) {
    blocks_.push_back({bytes, stream, IterationBlock::never});
  }
  // Of one that is forgotten already it is not news.
  void note_free(std::uint64_t number) {
    if (number >= first_) blocks_[number - first_].dies = static_cast<std::uint32_t>(next());
  }

  // Costs as much as what is left: call it when there is as much to forget as to keep.
  void forget_before(std::uint64_t number);

  // Those from `begin` on, of which `dies` means nothing; none where some of them are forgotten.
  std::span<const IterationBlock> from(std::uint64_t begin) const {
    if (begin < first_) return {};
    return std::span(blocks_).subspan(static_cast<std::size_t>(begin - first_));
  }

  // Requires of both: first() <= since <= begin <= next().
  // Everything from `begin` on, as an iteration that ends now.
  Iteration since(std::uint64_t begin) const;
  // Whether just about all that was asked for from `begin` on was asked for, as often, between
  // `since` and `begin` as well.
  bool repeats(std::uint64_t begin, std::uint64_t since) const;

 private:
  const IterationBlock& block(std::uint64_t number) const { return blocks_[number - first_]; }

  std::uint64_t first_ = 0;
  // `dies` is the number of the allocation, of which the upper half does not matter: nothing that
  // is kept is so far apart.
  std::vector<IterationBlock> blocks_;
};

}  // namespace headroom::allocator

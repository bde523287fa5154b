// SPDX-License-Identifier: Apache-2.0
// The plans of a job: one for each kind of iteration that it was seen to have. Lengths that vary
// make one kind, planned for the longest; batches of other proportions make kinds of their own,
// since a plan for the largest of everything would need more than any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/plans/plan.h"

namespace headroom::allocator {

// Whether the same was asked for in the same order, sizes apart.
bool same_shape(const Iteration& a, const Iteration& b);

// A plan for the iteration; or for it and all that `known` is for (may be null), if that takes
// hardly more memory than the larger of both. `smallest`: of the same shape, each block as small as
// it was seen. Blocks smaller than `least_bytes` get no place. Takes milliseconds for thousands of
// blocks.
PlanPointer plan_for(const Iteration& iteration, const Iteration& smallest,
                     const PlanPointer& known, std::uint64_t least_bytes = 0);

// Not thread-safe: whoever owns it protects it.
class PlanBook {
 public:
  // Plans that the new one makes superfluous go, and so do those that were not used for longest,
  // when there are too many.
  void add(PlanPointer plan);
  // Without those that take as much memory as this, or more.
  void drop_from(std::uint64_t bytes);

  // Under which every allocation of the iteration would have had its place; null: there is none.
  // From now on it expects iterations like this one as well.
  PlanPointer find(const Iteration& iteration);
  // The one of the same shape that was used last; null: there is none.
  PlanPointer alike(const Iteration& iteration) const;
  // The one for an iteration that has begun like this and goes on with this request, among those
  // of a stream that need no more memory than the piece has: exactly this before one with room to
  // spare, and then the one used last. Null: there is none.
  struct Piece {
    std::uint64_t bytes = 0;
    StreamId stream = 0;
  };
  PlanPointer choose(std::span<const IterationBlock> begun, std::uint64_t bytes, StreamId stream,
                     const Piece& piece);

  bool is_empty() const { return plans_.empty(); }
  std::uint64_t bytes() const;  // What the largest needs.
  StreamId stream() const;      // Requires: not empty.

 private:
  PlanPointer use(std::size_t index);

  std::vector<PlanPointer> plans_;  // The one used last is the last.
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// The plans of a job: one for each kind of iteration that it has been seen to have. Iterations that
// differ only in sequence length are one kind, planned for the longest. Batches of other
// proportions are kinds of their own, since one plan for the largest size of every block would need
// more memory than any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/plans/plan.h"

namespace headroom::allocator {

// Whether both have the same allocations in the same order, apart from sizes.
bool same_shape(const Iteration& a, const Iteration& b);

// Makes a plan for the iteration; if `known` is not null, a common plan for both if that takes
// hardly more memory than the larger of the two. `smallest` has the same shape, with each block as
// small as it was seen. Blocks smaller than `least_bytes` get no place. Takes milliseconds for
// thousands of blocks.
PlanPointer plan_for(const Iteration& iteration, const Iteration& smallest,
                     const PlanPointer& known, std::uint64_t least_bytes = 0);

// Not thread-safe: the owner protects it.
class PlanBook {
 public:
  // Adds a plan. Drops plans that the new one replaces and, when there are too many, those that
  // were not used for longest.
  void add(PlanPointer plan);
  // Drops the plans that take at least `bytes` of memory.
  void drop_from(std::uint64_t bytes);

  // Finds the plan under which every allocation of the iteration would have had its place; null if
  // there is none. From now on the plan expects iterations like this one as well.
  PlanPointer find(const Iteration& iteration);
  // The plan of the same shape that was used last; null if there is none.
  PlanPointer alike(const Iteration& iteration) const;
  // Chooses the plan for an iteration that began with `begun` and goes on with this request, among
  // those that fit into the piece and are for its stream. Prefers a plan of exactly these sizes to
  // one with room to spare, then one of the shape of `expected`, which may be null, and then the
  // one used last. Null if there is none.
  struct Piece {
    std::uint64_t bytes = 0;
    StreamId stream = 0;
  };
  PlanPointer choose(std::span<const IterationBlock> begun, std::uint64_t bytes, StreamId stream,
                     const Piece& piece, const Iteration* expected = nullptr);

  bool is_empty() const { return plans_.empty(); }
  std::uint64_t bytes() const;  // What the largest plan needs.
  StreamId stream() const;      // Requires: not empty.

 private:
  PlanPointer use(std::size_t index);

  std::vector<PlanPointer> plans_;  // The one used last is at the end.
};

}  // namespace headroom::allocator

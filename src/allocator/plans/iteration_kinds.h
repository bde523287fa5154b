// SPDX-License-Identifier: Apache-2.0
// The kinds of iterations that a job had lately: those with the same allocations in the same order,
// in whatever sizes. A training step may be followed by many of another kind, and an evaluation by
// many training steps, before it comes again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/plans/iteration.h"

namespace headroom::allocator {

// Not thread-safe: the owner protects it.
class IterationKinds {
 public:
  struct Kind {
    Iteration smallest;       // Each block as small as it was seen.
    std::uint64_t count = 0;  // How often it came.
    std::uint64_t number = 0;
    // The numbers of the kinds that came after it, and how often each of them did. Only of kinds
    // that are not forgotten.
    std::map<std::uint64_t, std::uint64_t> followers;
  };

  // Notes an iteration that has ended, and forgets the kinds that did not come for longest where
  // there are too many. The result is valid until the next call.
  const Kind& note(const Iteration& iteration);
  // The kind that came most often after one like the last; null if nothing is known.
  const Kind* expected() const;

 private:
  Kind& arrive(const Iteration& iteration);
  void forget_all_but(std::size_t kept);

  std::vector<Kind> kinds_;  // The one that came last is at the end.
  std::uint64_t next_number_ = 0;
};

}  // namespace headroom::allocator

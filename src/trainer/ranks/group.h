// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job reach each other: what is below Ranks (ranks.h), which knows what they
// share. On one machine through shared memory (shared_group.h), else through PyTorch's own c10d
// (c10d_group.h).
//
// All ranks call the same functions in the same order, one thread of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "averager/kernels.h"
#include "averager/streams.h"
#include "base/result.h"

namespace headroom::trainer {

class RankGroup {
 public:
  RankGroup() = default;
  virtual ~RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Where a rank puts what all do something with, and finds what came of it. It is of the same
  // size on all ranks, a multiple of 4, and none of the device's memory.
  virtual std::byte* staging() = 0;
  virtual std::uint64_t staging_bytes() const = 0;

  // What is staged becomes the sum over ranks, in fp32 and in the order of ranks; bfloat16 is
  // rounded once at the end. Returns the ranks, as bits, of which it is the sum; those that are
  // missing were lost, and are never there again. Fails where the job is to end then.
  virtual Result<std::uint32_t> sum(averager::ElementType type, std::uint64_t elements) = 0;
  // What is staged becomes what `from` has staged. Returns and fails as sum() does.
  virtual Result<std::uint32_t> broadcast(std::uint32_t from, std::uint64_t bytes) = 0;

  // The ranks, as bits, that take part in what comes next.
  virtual std::uint32_t present() const = 0;

  // The border of a step, to which all ranks come that are present. Those that were started again
  // after they were lost, and wait to come back, take part from here on.
  struct Border {
    std::uint32_t present = 0;  // Of those that came.
    std::uint32_t joined = 0;
  };
  virtual Result<Border> border() { return Border{.present = present(), .joined = 0}; }

  // Between neighbours, for a model that is split over the ranks; null: there are none.
  virtual averager::Streams* streams() { return nullptr; }
};

}  // namespace headroom::trainer

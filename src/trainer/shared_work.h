// SPDX-License-Identifier: Apache-2.0
// Work that the ranks of a job share: the micro-batches of a step, or of an evaluation. Each rank
// does its share, and all learn what came of it together. Where a rank is lost meanwhile, those
// that are left do all of it again, so that nothing of it is missing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/result.h"
#include "trainer/observer.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run_output.h"

namespace headroom::trainer {

class SharedWork {
 public:
  SharedWork(Ranks& ranks, RunOutput& output, Observer& observer)
      : ranks_(ranks), output_(output), observer_(observer) {}

  // Does the pieces from `first` to before `last`; returns numbers that are added up over all.
  using Part = std::function<Result<std::vector<double>>(std::size_t first, std::size_t last)>;

  // The sums of what `part` returned on every rank, in the order of ranks; the gradients of
  // `trained` are the sums of all ranks' then. With `part` called again after a loss, gradients
  // begin anew. `steps`: done so far, for a rank that has to take over writing. Fails as `part`
  // does, and as Ranks::tell().
  Result<std::vector<double>> do_all(std::size_t count, const Part& part, std::uint64_t steps,
                                     std::deque<Parameter>* trained = nullptr);

  // Whether the run is to end with a checkpoint: of several ranks, as they were when they last
  // did something together, so that all of them end after the same step.
  bool wants_stop() const { return ranks_.is_alone() ? observer_.wants_stop() : wants_stop_; }

 private:
  // Of ranks that were lost since it was last asked, here or at the border of a step.
  Status go_on_without_lost(std::uint64_t steps);

  Ranks& ranks_;
  RunOutput& output_;
  Observer& observer_;
  std::uint32_t known_lost_ = 0;  // Ranks of which it was said, and whose work was taken over.
  bool wants_stop_ = false;
};

}  // namespace headroom::trainer

// SPDX-License-Identifier: Apache-2.0
// Steps and evaluations of a model that is split over ranks, each with an end that all ranks know:
// the loss, whether somebody wants to stop, whether a checkpoint is due. Where memory runs out on
// one of them, all of them do the step again with half as many samples at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "trainer/device_memory.h"
#include "trainer/fitting_batches.h"
#include "trainer/observer.h"
#include "trainer/ranks/ranks.h"

namespace headroom::trainer {

class StageWork {
 public:
  StageWork(Ranks& ranks, DeviceMemory& memory, FittingBatches& batches, Observer& observer)
      : ranks_(ranks), memory_(memory), batches_(batches), observer_(observer) {}

  // One try at these pieces (pipeline.h); it may throw what libtorch throws.
  using Attempt = std::function<Result<std::optional<double>>(
      const std::vector<FittingBatches::Piece>& pieces)>;

  // The summed loss, on every rank. `start_over` drops what a try has left behind. `step`: for the
  // record. `is_due`: whether this rank wants a checkpoint. Fails on all ranks where one of them
  // fails, or where a single sample does not fit (failed_together()); and as Ranks::tell().
  Result<double> run(std::span<const FittingBatches::Indices> batches, std::uint64_t step,
                     bool is_due, const Attempt& attempt, const std::function<void()>& start_over);

  // As of the last run, on every rank alike.
  bool wants_stop() const { return wants_stop_; }
  bool wants_checkpoint() const { return wants_checkpoint_; }
  // Whether the failure is one that every rank has returned from, so that they can still do
  // something together.
  bool failed_together() const { return failed_together_; }

 private:
  Ranks& ranks_;
  DeviceMemory& memory_;
  FittingBatches& batches_;
  Observer& observer_;
  bool wants_stop_ = false;
  bool wants_checkpoint_ = false;
  bool failed_together_ = false;
};

}  // namespace headroom::trainer

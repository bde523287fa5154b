// SPDX-License-Identifier: Apache-2.0
// What a step and an evaluation compute, by this process alone or by all ranks of a job: shared out
// by micro-batches (shared_work.h), or by layers (ranks/stage_work.h). Either way every rank knows
// the same afterwards.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "trainer/data/split.h"
#include "trainer/device_memory.h"
#include "trainer/fitting_batches.h"
#include "trainer/model.h"
#include "trainer/observer.h"
#include "trainer/ranks/pipeline.h"
#include "trainer/ranks/ranks.h"
#include "trainer/ranks/stage_work.h"
#include "trainer/run_output.h"
#include "trainer/settings.h"
#include "trainer/shared_work.h"

namespace headroom::trainer {

class StepWork {
 public:
  // Everything outlives it.
  struct With {
    const Settings& settings;
    const data::Split& samples;
    Ranks& ranks;
    DeviceMemory& memory;
    RunOutput& output;
    Observer& observer;
  };
  explicit StepWork(const With& with);

  // The gradients of scale · (summed loss) of the step that comes after `steps` steps; returns the
  // summed loss. Of a model that is split, those of this rank's part.
  Result<double> compute_gradients(Model& model, const data::StepSamples& step, double scale,
                                   std::uint64_t steps);
  // √(Σ g²) over all of the model.
  Result<double> gradient_norm(Model& model);
  // The mean loss over the evaluation's tokens; nothing if the run is to stop.
  Result<std::optional<double>> evaluate(Model& model, std::uint64_t steps);

  // Whether the run is to end with a checkpoint, and whether one is due: on all ranks alike.
  bool wants_stop() const;
  bool wants_checkpoint() const;
  // Whether the last failure is one after which all ranks of a split model can still save theirs.
  bool failed_together() const { return stages_.failed_together(); }

  SharedWork& shared() { return shared_; }
  FittingBatches& batches() { return batches_; }

 private:
  bool checkpoint_is_due() const;
  Result<double> pass_stages(Model& model, const data::StepSamples& step, double scale,
                             std::uint64_t steps);
  Result<std::optional<double>> evaluate_stages(Model& model, std::uint64_t steps);
  // Of micro-batch `batch` of the step after `steps`, and of the `part`th piece of it.
  std::uint64_t dropout_seed_of(std::uint64_t steps, std::size_t batch, std::size_t part) const;

  With with_;
  SharedWork shared_;
  FittingBatches batches_;
  StageWork stages_;
};

}  // namespace headroom::trainer

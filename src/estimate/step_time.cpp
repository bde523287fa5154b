// SPDX-License-Identifier: Apache-2.0
#include "estimate/step_time.h"

#include "base/require.h"
#include "estimate/headroom_engine.h"

namespace headroom::estimate {
namespace {

using WorkOf = Work (*)(const Job&, const ModelConfig&);

Job with_shape(const Job& job, const MicroBatchShape& shape) {
  Job changed = job;
  changed.batch.micro = shape.samples;
  changed.batch.sequence = shape.length;
  return changed;
}

// Shapes take their turns one by one, so a length that no two micro-batches share costs one walk
// over the layers.
Result<double> seconds_of_shapes(const Job& job, const ModelConfig& model,
                                 const OperationTimes& rates,
                                 const std::map<MicroBatchShape, double>& shapes, WorkOf work_of) {
  double total = 0;
  for (const auto& [shape, count] : shapes) {
    HEADROOM_TRY(const double seconds, seconds_of(work_of(with_shape(job, shape), model), rates));
    total += count * seconds;
  }
  return total;
}

Seconds times(const Correction& correction, double seconds) {
  return {seconds * correction.factor, seconds * correction.low, seconds * correction.high};
}

}  // namespace

Result<double> rates_of_step(const Job& job, const ModelConfig& model,
                             const OperationTimes& rates) {
  require(job.batch.micro && job.batch.accumulate, "a job whose time is wanted is planned");
  HEADROOM_TRY(const double pass, seconds_of(work_of_micro_batch(job, model), rates));
  HEADROOM_TRY(const double optimizer, seconds_of(work_of_optimizer(job, model), rates));
  return pass * static_cast<double>(*job.batch.accumulate) + optimizer;
}

Result<TimeEstimate> predict_time(const Job& job, const ModelConfig& model,
                                  const Calibration& calibration,
                                  const std::optional<EpochShape>& epoch) {
  const OperationTimes& rates = calibration.rates;
  TimeEstimate estimate{.epochs = job.data.epochs,
                        .calibrated = calibration.time,
                        .waited_share = calibration.waited_share,
                        .runs = calibration.runs.size()};
  double evaluating = 0;
  if (epoch && epoch->steps > 0) {
    const auto steps = static_cast<double>(epoch->steps);
    estimate.steps_per_epoch = epoch->steps;
    HEADROOM_TRY(const double training,
                 seconds_of_shapes(job, model, rates, epoch->training, work_of_micro_batch));
    HEADROOM_TRY(const double optimizer, seconds_of(work_of_optimizer(job, model), rates));
    HEADROOM_TRY(evaluating,
                 seconds_of_shapes(job, model, rates, epoch->evaluation, work_of_evaluation));
    estimate.rates_s = training / steps + optimizer;
  } else {
    HEADROOM_TRY(estimate.rates_s, rates_of_step(job, model, rates));
  }
  const Correction correction = correction_of(calibration, job.compute.dtype, estimate.rates_s);
  estimate.step = times(correction, estimate.rates_s);
  if (estimate.steps_per_epoch > 0)
    estimate.epoch =
        times(correction, estimate.rates_s * static_cast<double>(epoch->steps) + evaluating);
  return estimate;
}

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluation.h"

#include <numeric>
#include <vector>

#include "trainer/data/batches.h"
#include "trainer/micro_batch.h"
#include "trainer/step.h"

namespace headroom::trainer {

std::size_t count_evaluations(std::size_t rows, std::uint64_t micro) {
  return (rows + micro - 1) / micro;
}

Result<EvaluatedPart> evaluate(Model& model, const data::SampleSet& samples, EvaluationRange range,
                               FittingBatches& batches, const std::function<bool()>& wants_stop) {
  std::vector<std::size_t> order(samples.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto one = [&](const auto& piece, std::size_t /*batch*/,
                       std::size_t /*part*/) -> Result<double> {
    HEADROOM_TRY(const MicroBatch batch, data::make_micro_batch(samples, piece));
    return evaluate_micro_batch(model, batch);
  };
  EvaluatedPart part;
  for (std::size_t i = range.first; i < range.last; ++i) {
    part.is_whole = !wants_stop();
    if (!part.is_whole) break;
    const data::StepSamples step =
        data::make_step(samples, order, i * range.micro, {.micro = range.micro});
    HEADROOM_TRY(const double loss, batches.run(step.micro_batches, range.step, one));
    part.loss += loss;
    part.targets += static_cast<double>(step.targets);
  }
  return part;
}

}  // namespace headroom::trainer

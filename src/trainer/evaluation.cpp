// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluation.h"

#include <numeric>
#include <vector>

#include "trainer/data/batches.h"
#include "trainer/step.h"

namespace headroom::trainer {

std::size_t count_evaluations(std::size_t samples, std::uint64_t micro) {
  return (samples + micro - 1) / micro;
}

EvaluatedPart evaluate(Model& model, const data::Samples& samples, std::uint64_t micro,
                       std::size_t first, std::size_t last,
                       const std::function<bool()>& wants_stop) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  EvaluatedPart part;
  for (std::size_t i = first; i < last; ++i) {
    part.is_whole = !wants_stop();
    if (!part.is_whole) break;
    const data::StepSamples step = data::make_step(samples, order, i * micro, {.micro = micro});
    part.loss +=
        evaluate_micro_batch(model, data::make_micro_batch(samples, step.micro_batches[0]));
    part.targets += static_cast<double>(step.targets);
  }
  return part;
}

}  // namespace headroom::trainer

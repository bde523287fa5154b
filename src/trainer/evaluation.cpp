// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluation.h"

#include <numeric>
#include <vector>

#include "trainer/data/batches.h"
#include "trainer/micro_batch.h"
#include "trainer/step.h"

namespace headroom::trainer {

std::optional<double> evaluate(Model& model, const data::Samples& samples, std::uint64_t micro,
                               const std::function<bool()>& wants_stop) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double loss = 0;
  std::uint64_t targets = 0;
  for (std::size_t first = 0; first < order.size();) {
    if (wants_stop()) return std::nullopt;
    const data::StepSamples step = data::make_step(samples, order, first, {.micro = micro});
    loss += evaluate_micro_batch(model, data::make_micro_batch(samples, step.micro_batches[0]));
    targets += step.targets;
    first += step.samples;
  }
  return loss / static_cast<double>(targets);
}

}  // namespace headroom::trainer

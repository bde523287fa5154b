// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/batches.h"

#include <algorithm>
#include <numeric>

#include "tokens/example.h"
#include "trainer/data/mix_seed.h"

namespace headroom::trainer::data {

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint64_t epoch_seed = mix_seed(seed, epoch);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[mix_seed(epoch_seed, i) % i]);
  }
  return order;
}

std::uint64_t count_steps(std::size_t rows, BatchShape shape, std::uint64_t epochs) {
  const std::uint64_t at_once = shape.micro * shape.accumulate;
  return (rows + at_once - 1) / at_once * epochs;
}

StepSamples make_step(const SampleSet& samples, const std::vector<std::size_t>& order,
                      std::size_t position, BatchShape shape) {
  StepSamples step;
  const std::size_t end =
      std::min<std::size_t>(order.size(), position + shape.micro * shape.accumulate);
  for (std::size_t first = position; first < end; first += shape.micro) {
    auto& batch = step.micro_batches.emplace_back();
    for (std::size_t i = first; i < std::min<std::size_t>(end, first + shape.micro); ++i) {
      batch.push_back(order[i]);
      ++step.rows;
      for (const std::size_t sample : samples.samples_in(order[i])) {
        ++step.samples;
        step.tokens += samples.tokens_of(sample);
        step.targets += samples.targets_of(sample);
      }
    }
  }
  return step;
}

}  // namespace headroom::trainer::data

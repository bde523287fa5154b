// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "tokens/example.h"
#include "trainer/ops/loss.h"
#include "trainer/torch_memory.h"

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

std::uint64_t count_steps(std::size_t samples, BatchShape shape, std::uint64_t epochs) {
  const std::uint64_t at_once = shape.micro * shape.accumulate;
  return (samples + at_once - 1) / at_once * epochs;
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
      ++step.samples;
      step.tokens += samples.tokens_of(order[i]);
      step.targets += samples.targets_of(order[i]);
    }
  }
  return step;
}

Result<MicroBatch> make_micro_batch(const SampleSet& samples,
                                    const std::vector<std::size_t>& indices) {
  std::size_t longest = 0;
  for (const std::size_t index : indices) longest = std::max(longest, samples.tokens_of(index));
  const TagScope scope(allocator::Component::other);
  MicroBatch batch;
  batch.batch = static_cast<std::int64_t>(indices.size());
  batch.sequence = static_cast<std::int64_t>(longest);
  batch.ids = at::zeros({batch.batch * batch.sequence}, at::kLong);
  batch.targets = at::full({batch.batch * batch.sequence}, ops::ignored_target, at::kLong);
  auto* ids = batch.ids.data_ptr<std::int64_t>();
  auto* targets = batch.targets.data_ptr<std::int64_t>();
  Sample space;
  for (const std::size_t index : indices) {
    HEADROOM_TRY(const std::span<const std::int32_t> sample, samples.read(index, space));
    std::transform(sample.begin(), sample.end(), ids, tokens::id_of);
    std::transform(sample.begin() + 1, sample.end(), targets, [](std::int32_t token) {
      return tokens::is_learned(token) ? token : ops::ignored_target;
    });
    ids += longest;
    targets += longest;
  }
  return batch;
}

}  // namespace headroom::trainer::data

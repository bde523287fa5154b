// SPDX-License-Identifier: Apache-2.0
#include "trainer/micro_batch.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tokens/example.h"
#include "trainer/ops/loss.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::data {

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

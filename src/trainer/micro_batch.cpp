// SPDX-License-Identifier: Apache-2.0
#include "trainer/micro_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tokens/example.h"
#include "trainer/ops/loss.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::data {

Result<MicroBatch> make_micro_batch(const SampleSet& samples,
                                    const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> indices;
  for (const std::size_t row : rows) {
    const auto of_row = samples.samples_in(row);
    indices.insert(indices.end(), of_row.begin(), of_row.end());
  }
  MicroBatch batch;
  batch.batch = static_cast<std::int64_t>(indices.size());
  std::vector<std::int64_t> cu_seqlens = {0};
  for (const std::size_t index : indices) {
    const auto length = static_cast<std::int64_t>(samples.tokens_of(index));
    batch.sequence = std::max(batch.sequence, length);
    cu_seqlens.push_back(cu_seqlens.back() + length);
  }
  const bool packed = samples.is_packed();
  const std::int64_t size = packed ? cu_seqlens.back() : batch.batch * batch.sequence;
  if (packed) batch.cu_seqlens = std::move(cu_seqlens);
  const TagScope scope(allocator::Component::other);
  batch.ids = at::zeros({size}, at::kLong);
  batch.targets = at::full({size}, ops::ignored_target, at::kLong);
  auto* ids = batch.ids.data_ptr<std::int64_t>();
  auto* targets = batch.targets.data_ptr<std::int64_t>();
  Sample space;
  for (const std::size_t index : indices) {
    HEADROOM_TRY(const std::span<const std::int32_t> sample, samples.read(index, space));
    std::transform(sample.begin(), sample.end(), ids, tokens::id_of);
    std::transform(sample.begin() + 1, sample.end(), targets, [](std::int32_t token) {
      return tokens::is_learned(token) ? token : ops::ignored_target;
    });
    const std::int64_t next = packed ? std::ssize(sample) : batch.sequence;
    ids += next;
    targets += next;
  }
  return batch;
}

}  // namespace headroom::trainer::data

// SPDX-License-Identifier: Apache-2.0
// One training step as headroom-train runs it (src/trainer: step.cpp, layer.cpp, ops/): forward and
// backward are written out there, so they are here, statement by statement. The constants that
// decide the size of the trainer's temporaries live here and the trainer uses them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/pipeline.h"
#include "estimate/recorder.h"
#include "estimate/work.h"

namespace headroom::estimate {

// The most elements that a temporary of a row-wise operation or of the optimizer has: 1 MiB in
// fp32, which stays in a core's second-level cache.
inline constexpr std::uint64_t block_elements = std::uint64_t{1} << 18U;

// Query rows that the efficient attention scores at once.
inline constexpr std::uint64_t attention_rows = 128;

// A product packs its right factor in parts of so many rows and columns, and sums of half types are
// taken in blocks of so many rows.
inline constexpr std::uint64_t product_inner_block = 256;
inline constexpr std::uint64_t product_column_block = 512;
inline constexpr std::uint64_t product_panel = 32;
inline constexpr std::uint64_t product_sum_rows = 512;

// Numbers of fp32 that such a part has, of a right factor of [inner, columns].
constexpr std::uint64_t product_space(std::uint64_t inner, std::uint64_t columns) {
  const std::uint64_t panels =
      (std::min(columns, product_column_block) + product_panel - 1) / product_panel;
  return std::min(inner, product_inner_block) * panels * product_panel;
}

// Attention multiplies by right factors of [D,S] and of [S,D]: whether the former need more.
constexpr bool attention_space_is_flat(std::uint64_t sequence, std::uint64_t head_dim) {
  return product_space(head_dim, sequence) >= product_space(sequence, head_dim);
}

// Rows of logits that the chunked loss holds: as many as make their size that of the hidden states,
// but at least 128.
constexpr std::uint64_t loss_chunk_rows(std::uint64_t rows, std::uint64_t hidden,
                                        std::uint64_t vocabulary) {
  return std::min(rows, std::max<std::uint64_t>(128, rows * hidden / vocabulary));
}

// The sequence for `steps` optimizer steps. Requires: micro and attention (math or efficient) are
// set.
Recording record_headroom(const Job& job, const ModelConfig& model, std::uint64_t steps);
// The same of one stage of a model that is split.
Recording record_headroom(const Job& job, const ModelConfig& model, std::uint64_t steps,
                          const StagePart& part);

// What the parts of a step do: one micro-batch forward and backward, one that is only evaluated,
// and the optimizer's step. Requires: as record_headroom.
Work work_of_micro_batch(const Job& job, const ModelConfig& model);
Work work_of_evaluation(const Job& job, const ModelConfig& model);
Work work_of_optimizer(const Job& job, const ModelConfig& model);

}  // namespace headroom::estimate

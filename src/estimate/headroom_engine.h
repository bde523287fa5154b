// SPDX-License-Identifier: Apache-2.0
// One training step as headroom-train runs it (src/trainer: step.cpp, layer.cpp, ops/): forward and
// backward are written out there, so they are here, statement by statement. The constants that
// decide the size of the trainer's temporaries live here and the trainer uses them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// The most elements that a temporary of a row-wise operation or of the optimizer has: 1 MiB in
// fp32, which stays in a core's second-level cache.
inline constexpr std::uint64_t block_elements = std::uint64_t{1} << 18U;

// Query rows that the efficient attention scores at once.
inline constexpr std::uint64_t attention_rows = 128;

// The trainer multiplies half types in fp32, block by block: the edge of such a block, for factors
// with `inner` columns and rows.
constexpr std::uint64_t product_block(std::uint64_t inner) {
  return std::clamp<std::uint64_t>(block_elements / std::max<std::uint64_t>(1, inner), 32, 512);
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

}  // namespace headroom::estimate

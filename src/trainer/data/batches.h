// SPDX-License-Identifier: Apache-2.0
// Which samples go into which optimizer step: a shuffled order of rows per epoch, cut into steps of
// micro · accumulate rows, and those into micro-batches. A row is a sample, or several that are
// packed. A function of seed and epoch alone, so that a resumed run sees the same batches.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/sample_set.h"

namespace headroom::trainer::data {

// A permutation of 0 … count−1 (Fisher–Yates over splitmix64: the same on every platform).
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

// One optimizer step's samples.
struct StepSamples {
  std::vector<std::vector<std::size_t>> micro_batches;  // Indices of rows.
  std::uint64_t rows = 0;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;   // Of all samples, padding not counted.
  std::uint64_t targets = 0;  // Tokens to predict: those that are learned, but for each first one.
};

struct BatchShape {  // In rows.
  std::uint64_t micro = 1;
  std::uint64_t accumulate = 1;
};

// Optimizer steps of `epochs` epochs over `rows` rows.
std::uint64_t count_steps(std::size_t rows, BatchShape shape, std::uint64_t epochs);

// The step that begins at row `position` of the epoch's order; at its end fewer rows remain.
// Requires: position < order.size().
StepSamples make_step(const SampleSet& samples, const std::vector<std::size_t>& order,
                      std::size_t position, BatchShape shape);

}  // namespace headroom::trainer::data

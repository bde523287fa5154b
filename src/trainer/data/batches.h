// SPDX-License-Identifier: Apache-2.0
// Which samples go into which optimizer step: a shuffled order per epoch, cut into steps of
// micro · accumulate samples, and those into micro-batches. A function of seed and epoch alone, so
// that a resumed run sees the same batches.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/sample_set.h"

namespace headroom::trainer::data {

// A permutation of 0 … count−1 (Fisher–Yates over splitmix64: the same on every platform).
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

// One optimizer step's samples.
struct StepSamples {
  std::vector<std::vector<std::size_t>> micro_batches;  // Indices of samples.
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;   // Of all samples, padding not counted.
  std::uint64_t targets = 0;  // Tokens to predict: those that are learned, but for each first one.
};

struct BatchShape {
  std::uint64_t micro = 1;
  std::uint64_t accumulate = 1;
};

// Optimizer steps of `epochs` epochs over `samples` samples.
std::uint64_t count_steps(std::size_t samples, BatchShape shape, std::uint64_t epochs);

// The step that begins at sample `position` of the epoch's order; at its end fewer samples remain.
// Requires: position < order.size().
StepSamples make_step(const SampleSet& samples, const std::vector<std::size_t>& order,
                      std::size_t position, BatchShape shape);

}  // namespace headroom::trainer::data

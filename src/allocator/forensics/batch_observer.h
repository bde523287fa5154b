// SPDX-License-Identifier: Apache-2.0
// What a step's memory is as a function of its batch. Activations grow linearly with the number of
// samples, weights and optimizer state do not; so two steps with different batches tell what one
// sample costs, and with it the largest batch that a capacity allows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::allocator {

struct BatchObservation {
  std::uint64_t batch = 0;           // Samples in one micro-batch.
  std::uint64_t variable_bytes = 0;  // The step's peak of activations, logits and temporaries.
  std::uint64_t constant_bytes = 0;  // Live at that peak and not of the batch: weights, state.
};

// `proportional`: only one batch was seen, and what is variable is taken to be zero at batch zero.
enum class BatchBasis : std::uint8_t { two_or_more_batches, proportional };

// Live bytes at the peak = constant + at_zero + per_sample × batch.
struct BatchLine {
  double per_sample_bytes = 0;  // Above 0.
  double at_zero_bytes = 0;     // Variable bytes that do not depend on the batch.
  std::uint64_t constant_bytes = 0;
  BatchBasis basis = BatchBasis::proportional;

  // The largest batch whose peak is at most this; 0 if not even one sample fits.
  std::uint64_t largest(std::uint64_t capacity_bytes) const;
};

// Not thread-safe.
class BatchObserver {
 public:
  // Of a finished step. Steps of one batch differ where lengths do: its largest counts. Ignores
  // batch 0, and batches of more than 64 different sizes.
  void observe(const BatchObservation& observation);

  // By least squares over the batches seen; nothing before the first step, and nothing where larger
  // batches did not take more.
  std::optional<BatchLine> line() const;

 private:
  static constexpr std::size_t max_batches = 64;
  std::vector<BatchObservation> peaks_;  // One of each batch.
  std::uint64_t constant_bytes_ = 0;  // The most seen: optimizer state comes with the first step.
};

}  // namespace headroom::allocator

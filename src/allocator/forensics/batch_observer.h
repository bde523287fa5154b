// SPDX-License-Identifier: Apache-2.0
// Learns how a training step's memory depends on its batch size. Activations grow linearly with the
// number of samples, weights and optimizer state do not; so two steps with different batches tell
// what one sample costs, and with it the largest batch that a capacity allows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headroom::allocator {

struct BatchObservation {
  std::uint64_t batch = 0;           // Samples in one micro-batch.
  std::uint64_t variable_bytes = 0;  // Activations, logits and temporaries at the step's peak.
  std::uint64_t constant_bytes = 0;  // Everything else live at that peak: weights, state.
};

// `proportional`: only one batch size was seen, so the variable bytes are assumed to be zero at
// batch zero.
enum class BatchBasis : std::uint8_t { two_or_more_batches, proportional };

// Live bytes at the peak = constant + at_zero + per_sample × batch.
struct BatchLine {
  double per_sample_bytes = 0;  // Above 0.
  double at_zero_bytes = 0;     // Variable bytes that do not depend on the batch.
  std::uint64_t constant_bytes = 0;
  BatchBasis basis = BatchBasis::proportional;

  // The largest batch whose peak is at most `capacity_bytes`; 0 if not even one sample fits.
  std::uint64_t largest(std::uint64_t capacity_bytes) const;
};

// Not thread-safe.
class BatchObserver {
 public:
  // Takes in a finished step. Steps with the same batch size can differ in sequence length; the
  // largest peak counts. Ignores batch 0, and any further batch sizes after 64 different ones.
  void observe(const BatchObservation& observation);

  // Fits a line by least squares over the batches seen. Returns nothing before the first step, and
  // nothing if larger batches did not take more memory.
  std::optional<BatchLine> line() const;

 private:
  static constexpr std::size_t max_batches = 64;
  std::vector<BatchObservation> peaks_;  // One for each batch size.
  // The largest seen: optimizer state comes with the first step.
  std::uint64_t constant_bytes_ = 0;
};

}  // namespace headroom::allocator

// SPDX-License-Identifier: Apache-2.0
// What AdamW does with some numbers of a parameter: torch.optim.AdamW's arithmetic, in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/kernels/kernels.h"
#include "trainer/optimizer.h"

namespace headroom::trainer {

// What one step multiplies every number by.
struct AdamWFactors {
  double gradient = 1;       // Multiplies the gradient first.
  double mean_part = 0;      // 1 − beta1
  double variance_part = 0;  // 1 − beta2
  double root = 1;           // √(1 − beta2ᵗ)
  double epsilon = 0;
  double keep = 1;  // 1 − learning rate · weight decay
  double rate = 0;  // learning rate / (1 − beta1ᵗ)

  kernels::AdamWRates in_fp32() const;
};

// Of step t, counted from 1.
AdamWFactors adamw_factors(const AdamWSettings& settings, std::uint64_t t,
                           const StepFactors& factors);

// Of the same length each, contiguous.
struct AdamWNumbers {
  at::Tensor value;
  at::Tensor grad;
  at::Tensor mean;
  at::Tensor variance;
};

// Needs, unless all are fp32 on a processor, two blocks of at most block_elements in the dtype of
// sums (ops/row_blocks.h).
void take_adamw_step(const AdamWNumbers& numbers, const AdamWFactors& factors);

}  // namespace headroom::trainer

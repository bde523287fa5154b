// SPDX-License-Identifier: Apache-2.0
// The length of all gradients of a step together, and by what they are multiplied where it is
// limited: torch.nn.utils.clip_grad_norm_. It is taken once a step, when all micro-batches have
// been added up, so how a step is split changes nothing but the rounding.
//
// Memory. Temporaries (workspace): a single number per block of at most block_elements
// (ops/row_blocks.h); for bf16 also the block in fp32.
#pragma once

#include <deque>
#include <optional>

#include "trainer/parameter.h"

namespace headroom::trainer {

// Σ g² over every element, but for copies of what another process counts.
double sum_of_squares(const std::deque<Parameter>& parameters);

// √(Σ g²) over every element. Requires: every parameter has a gradient.
double gradient_norm(const std::deque<Parameter>& parameters);

// min(1, limit / (norm + 1e-6)); 1 without a limit.
double clip_factor(double norm, std::optional<double> limit);

}  // namespace headroom::trainer

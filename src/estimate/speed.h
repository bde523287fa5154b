// SPDX-License-Identifier: Apache-2.0
// How long a step takes on paper: the roofline of its products, the bytes that everything else
// moves, and what goes over PCIe. It only orders settings; nobody is promised these seconds.
#pragma once

#include <cstdint>

#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/step_profile.h"

namespace headroom::estimate {

// What the seconds of one setting follow from.
struct Effort {
  Taking taking;  // Of the job's micro-batch.
  std::uint64_t weights_bytes = 0;
  std::uint64_t trainable_bytes = 0;     // Of the parameters that are trained …
  std::uint64_t trainable_elements = 0;  // … and how many they are.
  std::uint64_t offloaded_bytes = 0;     // Of the optimizer's states, by headroom's own trainer.
};

// Floating-point operations for one sample: forward, backward and recomputation. Inference: the
// prompt.
double flops_per_sample(const Job& job, const Architecture& model);

// Tokens a second. Where the card's rates are not known, those of a card in the middle are taken.
// Requires: job.batch.micro and accumulate are set.
double tokens_per_second(const Job& job, const Architecture& model, const Device& device,
                         const Effort& effort);

}  // namespace headroom::estimate

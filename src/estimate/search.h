// SPDX-License-Identifier: Apache-2.0
// The search for settings that fit: what may be varied without changing what is learned
// (micro-batch and accumulation at the same global batch, checkpointing, attention kernel, loss
// kernel), fastest first.
#pragma once

#include <functional>
#include <vector>

#include "estimate/plan.h"

namespace headroom::estimate {

// Whether a job fits, and what it would take. Without a capacity nothing is known to fit.
struct Fit {
  bool fits = false;
  std::uint64_t allocated_bytes = 0;  // Where it fits.
};
using TryJob = std::function<Result<Fit>(const Job&)>;

// Floating-point operations for one sample, forward, backward and recomputation: what
// relative_speed compares. It counts arithmetic only, not the bytes that move.
double flops_per_sample(const Job& job, const Architecture& model);

// What is "auto" in the job's batch: what follows from the rest, or else the largest micro-batch
// that fits (1 if none does) and its accumulation for the global batch. Keeps what was given.
Result<Job> choose_batch(Job job, const TryJob& try_job);

// At most five changes that make the job fit, fastest first.
Result<std::vector<Advice>> find_advice(const Job& job, const Architecture& model,
                                        const TryJob& try_job);

}  // namespace headroom::estimate

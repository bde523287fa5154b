// SPDX-License-Identifier: Apache-2.0
// The search for settings that fit, fastest first: what leaves the result as it is (the split of
// the batch, kernels, checkpointing, where the optimizer runs) and, apart from it, what changes it
// (types, optimizers, ranks, sequences, methods). Whatever is found has been planned in full.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "estimate/plan.h"

namespace headroom::estimate {

// Whether a job fits, and what it would take. Without a capacity nothing is known to fit.
struct Fit {
  bool fits = false;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t device_bytes = 0;
};
using TryJob = std::function<Result<Fit>(const Job&)>;

// What is "auto" in the job: the batch, as far as it does not follow from the rest, becomes the
// largest that fits (1 if none does) with its accumulation for the global batch, checkpointing what
// is fastest of what fits. Keeps what was given. Requires: job.compute.attention is set.
Result<Job> choose_automatic(Job job, const Architecture& model, const Device& device,
                             const TryJob& try_job);

struct Search {
  std::vector<Advice> advice;      // At most five.
  std::uint64_t combinations = 0;  // How many were looked at.
  // The most experts of a change that was passed over, as each would be planned by itself; 0: none.
  std::uint64_t passed_over = 0;
};

// Requires: the device has a capacity, and nothing of the job is automatic but its attention
// kernel, which then follows from each setting (attention_for). Changes are from the job with its
// kernel. `faster_only`: nothing that is not faster than the job, and nothing that changes the
// result.
Result<Search> find_settings(const Job& job, const Architecture& model, const Device& device,
                             const TryJob& try_job, bool faster_only);

// Cards of the knowledge tables that hold the job as it is with a tenth to spare, at most three:
// AMD's first, of these what costs least, of these the smallest.
Result<std::vector<FittingCard>> find_cards(const Job& job, const Architecture& model);

// The job as given, but for one quantity, found by doubling and bisection: it fits, and one more
// does not. At most 2^20. (PyTorch's allocator may take less for a larger job, so that a still
// larger one may fit: docs/plan.md.) No sequence is shorter than `least_tokens`.
LargestFit find_largest(const Job& job, Quantity quantity, const TryJob& try_job,
                        std::uint64_t least_tokens = 1);

// What make_plan tries settings with: what it would say of that very job.
// Both outlive it.
TryJob make_trial(const Architecture& model, const Device& device);

}  // namespace headroom::estimate

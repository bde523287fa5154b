// SPDX-License-Identifier: Apache-2.0
// `headroom plan`: what a job will take, whether that fits, and which settings would. contracts.md,
// "Answer".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// Settings that differ from the job's; only those set do.
struct Change {
  std::optional<std::uint64_t> micro;
  std::optional<std::uint64_t> accumulate;
  std::optional<Checkpointing> checkpointing;
  std::optional<Attention> attention;
  std::optional<Loss> loss;
};

Job apply(Job job, const Change& change);

struct Advice {
  Change change;
  std::uint64_t allocated_bytes = 0;
  double relative_speed = 1;  // Of the job as given, by arithmetic to be done.
};

struct Plan {
  Job job;  // As planned: nothing is "auto" any more.
  std::uint64_t allocated_bytes =
      0;  // Peak of live allocations, as torch.cuda.max_memory_allocated().
  std::uint64_t reserved_bytes = 0;  // Peak that the allocator takes, as max_memory_reserved().
  std::uint64_t device_bytes = 0;    // With the context: what the device's counter shows.
  std::optional<std::uint64_t> capacity_bytes;
  std::optional<bool> fits;  // Nothing without a capacity.
  Phase at = Phase::load;
  allocator::ByComponent components;  // At the peak; they add up to allocated_bytes.
  std::uint64_t weights_bytes = 0;    // With adapters.
  // Weights, and gradients and optimizer states of what is trained: no batch makes it smaller.
  std::uint64_t training_state_bytes = 0;
  std::uint64_t parameters = 0;
  std::uint64_t trainable_parameters = 0;
  std::vector<TensorRecord> largest;          // Live at the peak, at most ten.
  std::optional<TensorRecord> first_failure;  // The tensor that does not fit first.
  std::vector<Advice> advice;  // What would fit, fastest first; empty if the job fits.
};

// Fails where the job asks for what its engine or this version cannot do. "auto" batches become the
// largest that fit, or 1 where none does or no capacity is known. Also fails for what no device
// could hold (64 TiB). Does not touch the machine: everything follows from the arguments.
Result<Plan> make_plan(const Job& job, const Architecture& model, const Device& device);

}  // namespace headroom::estimate

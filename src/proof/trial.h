// SPDX-License-Identifier: Apache-2.0
// What `headroom try` found: one row for each framework of each Python, best first. These values
// are its report (docs/schema/try.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proof/step.h"
#include "proof/step_lines.h"
#include "proof/trial_job.h"

namespace headroom::proof {

struct StackResult {
  std::string python;     // As it was named; empty: `image`.
  std::string image;      // Of a container.
  std::string framework;  // "torch", "jax", "tensorflow"; empty: none was found.
  std::string version;
  std::string device;  // "cuda:0", "cpu"; empty: it did not come so far.
  bool ok = false;
  std::string step;  // The last that it came to, as in trial_kinds().
  std::string detail;
  std::optional<StepCause> cause;
  TrainingProgress training;
  std::optional<std::uint64_t> planned_bytes;  // What the planner says of the same peak.
  std::string not_planned;                     // Why it says nothing.

  const std::string& place() const { return image.empty() ? python : image; }
};

// By the median step after the first, in which frameworks compile and load. Nothing: no step was
// done.
std::optional<double> samples_per_s(const StackResult& stack, std::uint64_t samples_per_step);

struct TrialReport {
  TrialJob job;
  std::uint64_t steps = 0;  // Of each training.
  std::vector<StackResult> stacks;
  std::vector<std::string> remarks;

  bool any_ok() const;
};

// Those that finished computed the same losses from the same weights and data, but for rounding. A
// stack that is alone against two or more that agree has failed at its correctness; where there are
// only two, or none agree, a remark says so.
void compare_losses(TrialReport& report);

// Those that finished by their speed, then the others by how far they came.
void rank(TrialReport& report);

}  // namespace headroom::proof

// SPDX-License-Identifier: Apache-2.0
// The learning rate over a run, as transformers' get_scheduler has it (optimization.py): a factor
// that the job's rate is multiplied by, a function of the step's number alone. A resumed run
// therefore needs no state but its position.
#pragma once

#include <cstdint>

#include "estimate/job.h"

namespace headroom::trainer {

// As the job asks for it. A length given as a ratio is resolved once the run's length is known.
struct ScheduleSettings {
  estimate::ScheduleKind kind = estimate::ScheduleKind::constant;
  std::uint64_t warmup_steps = 0;
  double warmup_ratio = 0;  // Counts if it is not 0.
};

// Whether the rate falls to 0 at the end of the run.
bool decays(estimate::ScheduleKind kind);

// Whether the rate of a step depends on how many steps the whole run has.
bool depends_on_length(const ScheduleSettings& settings);

class Schedule {
 public:
  // `steps`: optimizer steps of the whole run.
  Schedule(const ScheduleSettings& settings, std::uint64_t steps);

  std::uint64_t warmup_steps() const { return warmup_steps_; }

  // From 0 to 1; `step` counts from 0. The first step of a warm-up has the factor 0, and a linear
  // or cosine schedule would be 0 at step `steps`, which is one beyond the last.
  double factor(std::uint64_t step) const;

 private:
  estimate::ScheduleKind kind_;
  std::uint64_t warmup_steps_;
  std::uint64_t steps_;
};

}  // namespace headroom::trainer

// SPDX-License-Identifier: Apache-2.0
#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headroom::trainer {

using estimate::ScheduleKind;

namespace {

// TrainingArguments.get_warmup_steps.
std::uint64_t resolve_warmup(const ScheduleSettings& settings, std::uint64_t steps) {
  if (settings.warmup_ratio <= 0) return settings.warmup_steps;
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(steps) * settings.warmup_ratio));
}

}  // namespace

bool decays(ScheduleKind kind) {
  return kind == ScheduleKind::linear || kind == ScheduleKind::cosine;
}

bool depends_on_length(const ScheduleSettings& settings) {
  return decays(settings.kind) || settings.warmup_ratio > 0;
}

Schedule::Schedule(const ScheduleSettings& settings, std::uint64_t steps)
    : kind_(settings.kind), warmup_steps_(resolve_warmup(settings, steps)), steps_(steps) {}

double Schedule::factor(std::uint64_t step) const {
  if (kind_ == ScheduleKind::constant) return 1;
  // Here warmup_steps_ is above 0: transformers' max(1, …) has nothing to do.
  if (step < warmup_steps_) return static_cast<double>(step) / static_cast<double>(warmup_steps_);
  if (!decays(kind_)) return 1;
  const double rest =
      static_cast<double>(steps_ > warmup_steps_ ? steps_ - warmup_steps_ : std::uint64_t{1});
  if (kind_ == ScheduleKind::linear)
    return step < steps_ ? static_cast<double>(steps_ - step) / rest : 0;
  const double progress = static_cast<double>(step - warmup_steps_) / rest;
  return std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * 0.5 * 2.0 * progress)));
}

}  // namespace headroom::trainer

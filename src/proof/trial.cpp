// SPDX-License-Identifier: Apache-2.0
#include "proof/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "findings/step.h"
#include "proof/step_kinds.h"

namespace headroom::proof {
namespace {

// How far losses may be apart, of the larger one. Rounding grows over the steps of a training.
double tolerance_of(estimate::DType dtype) {
  return dtype == estimate::DType::fp32 ? 0.01 : 0.05;
}

bool agree(const StackResult& one, const StackResult& other, double tolerance) {
  const auto near = [tolerance](const std::optional<double>& a, const std::optional<double>& b) {
    if (!a || !b) return false;
    return std::fabs(*a - *b) <= tolerance * std::max({std::fabs(*a), std::fabs(*b), 1e-3});
  };
  return near(one.training.first_loss, other.training.first_loss) &&
         near(one.training.last_loss, other.training.last_loss);
}

std::string losses_of(const StackResult& stack) {
  return fmt::format("{:.4g} and, at the end, {:.4g}", stack.training.first_loss.value_or(0),
                     stack.training.last_loss.value_or(0));
}

std::string name_of(const StackResult& stack) {
  return fmt::format("{} {} of {}", stack.framework, stack.version, stack.place());
}

void fail(StackResult& stack, const StackResult& other, std::size_t others) {
  stack.ok = false;
  stack.step = "correctness";
  stack.detail = fmt::format("its losses are {}; {} others agree on {}", losses_of(stack), others,
                             losses_of(other));
  StepCause cause;
  cause.id = "wrong-answer";
  cause.confidence = 0.8;
  cause.title = "it computes other results than the other stacks";
  cause.evidence = {{"the step training", 0, stack.detail, "from the same weights and data"}};
  cause.fix = {
      findings::look("headroom test --python " + stack.python, "(which operation is wrong)")};
  stack.cause = std::move(cause);
}

std::size_t step_place(const std::string& step) {
  const auto kinds = trial_kinds();
  const auto at = std::find_if(kinds.begin(), kinds.end(),
                               [&step](const StepKind& kind) { return kind.name == step; });
  return static_cast<std::size_t>(at - kinds.begin());
}

}  // namespace

std::optional<double> samples_per_s(const StackResult& stack, std::uint64_t samples_per_step) {
  std::vector<double> times = stack.training.step_s;
  if (times.empty()) return std::nullopt;
  if (times.size() > 1) times.erase(times.begin());
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (*middle <= 0) return std::nullopt;
  const double speed = static_cast<double>(samples_per_step) / *middle;
  return std::isfinite(speed) ? std::optional(speed) : std::nullopt;
}

bool TrialReport::any_ok() const {
  return std::any_of(stacks.begin(), stacks.end(),
                     [](const StackResult& stack) { return stack.ok; });
}

void compare_losses(TrialReport& report) {
  const double tolerance = tolerance_of(report.job.job.compute.dtype);
  std::vector<StackResult*> finished;
  for (StackResult& stack : report.stacks) {
    if (stack.ok) finished.push_back(&stack);
  }
  if (finished.size() < 2) return;
  const auto friends_of = [&](const StackResult* one) {
    return std::count_if(finished.begin(), finished.end(), [&](const StackResult* other) {
      return other != one && agree(*one, *other, tolerance);
    });
  };
  const StackResult* best = *std::max_element(
      finished.begin(), finished.end(),
      [&](const auto* a, const auto* b) { return friends_of(a) < friends_of(b); });
  const auto most = static_cast<std::size_t>(friends_of(best));
  if (most + 1 == finished.size()) return;
  const bool is_majority = most >= 1 && 2 * (most + 1) > finished.size();
  for (StackResult* stack : finished) {
    if (stack == best || agree(*stack, *best, tolerance)) continue;
    if (is_majority) {
      fail(*stack, *best, most + 1);
    } else {
      report.remarks.push_back(
          fmt::format("{} computes losses of {}, {} of {}: one of them is "
                      "wrong, and nothing here tells which",
                      name_of(*stack), losses_of(*stack), name_of(*best), losses_of(*best)));
    }
  }
}

void rank(TrialReport& report) {
  const std::uint64_t samples = report.job.samples_per_step();
  std::stable_sort(report.stacks.begin(), report.stacks.end(),
                   [samples](const StackResult& one, const StackResult& other) {
                     if (one.ok != other.ok) return one.ok;
                     const double fast = samples_per_s(one, samples).value_or(0);
                     const double slow = samples_per_s(other, samples).value_or(0);
                     if (one.ok) return fast > slow;
                     const std::size_t came = step_place(one.step), went = step_place(other.step);
                     if (came != went) return came > went;
                     const std::size_t done = one.training.step_s.size(),
                                       did = other.training.step_s.size();
                     return done != did ? done > did : fast > slow;
                   });
}

}  // namespace headroom::proof

// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_schedule.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

// In the order of the enum's values.
const std::vector<std::string> schedule_names = {"constant", "constant_with_warmup", "linear",
                                                 "cosine"};
constexpr Range warmups = {0, std::uint64_t{1} << 40U};

// What a schedule would silently ignore, or cannot do without.
void check_warmup(TableReader& table, const Job::Optimizer& optimizer) {
  const bool warms = optimizer.warmup_steps > 0 || optimizer.warmup_ratio > 0;
  const char* key = optimizer.warmup_ratio > 0 ? "warmup_ratio" : "warmup_steps";
  if (optimizer.warmup_steps > 0 && optimizer.warmup_ratio > 0) {
    table.fail(key, Errc::invalid,
               fmt::format("expected the warm-up as one number, found warmup_steps = {} and "
                           "warmup_ratio = {}",
                           optimizer.warmup_steps, optimizer.warmup_ratio),
               "leave one of the two out");
  } else if (warms && optimizer.schedule == ScheduleKind::constant) {
    table.fail(key, Errc::invalid,
               "expected a schedule that has a warm-up, found schedule = \"constant\"",
               "write schedule = \"constant_with_warmup\", \"linear\" or \"cosine\"");
  } else if (!warms && optimizer.schedule == ScheduleKind::constant_with_warmup) {
    table.fail("schedule", Errc::invalid,
               "expected a length of the warm-up for \"constant_with_warmup\", found none",
               "write warmup_steps = 100 or warmup_ratio = 0.03, or schedule = \"constant\"");
  }
}

// 0 does not mean "no clipping" here, as it does in transformers' Trainer: a limit of 0 would stop
// every step, and a person who means that no step is clipped leaves the key out.
void read_max_grad_norm(TableReader& table, Job::Optimizer& optimizer) {
  if (table.find("max_grad_norm") == nullptr) return;
  double largest = 1;
  table.read("max_grad_norm", largest, 0.0, 1e9);
  if (largest > 0) {
    optimizer.max_grad_norm = largest;
    return;
  }
  table.fail("max_grad_norm", Errc::invalid, "expected a norm above 0, found 0",
             "write max_grad_norm = 1.0, or leave it out: gradients are not clipped then");
}

}  // namespace

std::string_view to_string(ScheduleKind kind) {
  return schedule_names.at(static_cast<std::size_t>(kind));
}

void read_schedule(TableReader& table, Job::Optimizer& optimizer) {
  table.read_choice("schedule", optimizer.schedule, schedule_names);
  table.read("warmup_steps", optimizer.warmup_steps, warmups);
  table.read("warmup_ratio", optimizer.warmup_ratio, 0.0, 1.0);
  check_warmup(table, optimizer);
  read_max_grad_norm(table, optimizer);
}

}  // namespace headroom::estimate

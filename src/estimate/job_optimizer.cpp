// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_optimizer.h"

#include <fmt/format.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

constexpr double usual_momentum = 0.9;

// A number, or `true` for the usual one.
void read_momentum(TableReader& table, Job::Optimizer& optimizer) {
  const Json* given = table.find("momentum");
  if (given != nullptr && given->is_boolean()) {
    optimizer.momentum = given->get<bool>() ? usual_momentum : 0;
  } else {
    table.read("momentum", optimizer.momentum, 0.0, 1.0);
  }
  table.read("nesterov", optimizer.nesterov);
  if (optimizer.nesterov && optimizer.momentum == 0)
    table.fail("nesterov", Errc::invalid, "expected a momentum above 0 beside it, found none",
               "write momentum = 0.9, or leave nesterov out");
}

// transformers' Adafactor finds its own rate unless it is given one, and then scales it.
void read_adafactor(TableReader& table, Job::Optimizer& optimizer) {
  const bool rate_given = table.find("learning_rate") != nullptr;
  optimizer.relative_step = !rate_given;
  table.read("relative_step", optimizer.relative_step);
  optimizer.scale_parameter = optimizer.relative_step;
  table.read("scale_parameter", optimizer.scale_parameter);
  table.read("warmup_init", optimizer.warmup_init);
  table.read("clip_threshold", optimizer.clip_threshold, 1e-6, 1e9);
  if (optimizer.relative_step && rate_given) {
    table.fail("relative_step", Errc::invalid,
               "expected one way to a learning rate, found learning_rate and relative_step = true",
               "leave one of the two out");
  } else if (optimizer.relative_step && optimizer.schedule != ScheduleKind::constant) {
    table.fail("schedule", Errc::invalid,
               fmt::format("expected \"constant\" beside Adafactor's relative step, which is a "
                           "schedule itself, found \"{}\"",
                           to_string(optimizer.schedule)),
               "write learning_rate = 1e-3, or leave the schedule out");
  } else if (optimizer.warmup_init && !optimizer.relative_step) {
    table.fail("warmup_init", Errc::invalid, "expected relative_step = true beside it, found false",
               "write schedule = \"constant_with_warmup\" and warmup_steps for a learning_rate");
  }
}

void refuse_keys_of_others(TableReader& table, const Job::Optimizer& optimizer) {
  const auto refuse = [&](const char* key, OptimizerKind kind) {
    if (optimizer.kind == kind || table.find(key) == nullptr) return;
    table.fail(key, Errc::invalid,
               fmt::format("expected it beside kind = \"{}\", found kind = \"{}\"", to_string(kind),
                           to_string(optimizer.kind)),
               fmt::format("leave it out, or write kind = \"{}\"", to_string(kind)));
  };
  for (const char* key : {"momentum", "nesterov"}) refuse(key, OptimizerKind::sgd);
  for (const char* key : {"relative_step", "scale_parameter", "warmup_init", "clip_threshold"})
    refuse(key, OptimizerKind::adafactor);
}

}  // namespace

void read_optimizer_rates(TableReader& table, Job::Optimizer& optimizer) {
  table.read("learning_rate", optimizer.learning_rate, 0.0, 10.0);
  const bool is_adam =
      optimizer.kind == OptimizerKind::adamw || optimizer.kind == OptimizerKind::adamw8bit;
  if (!is_adam) optimizer.weight_decay = 0;
  table.read("weight_decay", optimizer.weight_decay, 0.0, 10.0);
  refuse_keys_of_others(table, optimizer);
  if (optimizer.kind == OptimizerKind::sgd) read_momentum(table, optimizer);
  if (optimizer.kind == OptimizerKind::adafactor) read_adafactor(table, optimizer);
}

}  // namespace headroom::estimate

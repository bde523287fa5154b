// SPDX-License-Identifier: Apache-2.0
// option-overridden and option-not-in-force: memory options of amdgpu and TTM that contradict each
// other, or that the initramfs does not know of. Neither invents a value: the one that counts, or
// was asked for last, is set everywhere. Both go by what the next boot will have: what was taken
// back since this one began is not set again.
#include <fmt/format.h>

#include <set>

#include "plan/boot/boot_steps.h"
#include "plan/boot/next_boot.h"
#include "plan/confirm_unit.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/forecast.h"

namespace headroom::plan {
namespace {

using facts::ModuleOption;

bool is_memory_module(const std::string& module) {
  return module == "amdgpu" || module == "ttm" || module == "amdttm";
}

template <const Fix& fix>
bool applies(const FixSubject& subject) {
  return is_diagnosed(subject.diagnosis, fix.id) && acts(fix.plan(subject));
}

Error in_container(const FixSubject& subject) {
  return {Errc::unsupported,
          fmt::format("this is a container ({}), and kernel module options belong to its host",
                      *subject.facts.machine.container),
          "on the host: headroom check"};
}

// What the next boot brings with these options, where that can be told: the page limit.
Forecast forecast_of(const FixSubject& subject, const std::vector<ParameterChange>& parameters) {
  facts::WhatIf what_if;
  std::vector<std::pair<std::string, std::string>> expected;
  for (const ParameterChange& parameter : parameters) {
    expected.emplace_back(parameter.name(), *parameter.value);
  }
  return make_forecast(facts::predict(subject.facts, what_if), std::move(expected));
}

Change start(const FixSubject& subject, const Fix& fix, std::string title) {
  Change change;
  change.fix = fix.id;
  change.title = std::move(title);
  change.words = subject.options.words;
  change.needs_reboot = true;
  return change;
}

// Of every parameter that is set in two places with two values: the value that counts.
std::vector<ParameterChange> find_overridden(const facts::MachineFacts& machine) {
  std::vector<ParameterChange> parameters;
  std::set<std::string> seen;
  for (const ModuleOption& option : machine.options) {
    const ModuleOption* winner = machine.option(option.module, option.key);
    if (!is_memory_module(option.module) || winner->value == option.value) continue;
    if (!seen.insert(option.module + "." + option.key).second) continue;
    parameters.push_back({option.module, option.key, winner->value});
  }
  return parameters;
}

Result<Change> set_alike(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  if (machine.in_container()) return in_container(subject);
  const auto parameters = find_overridden(at_next_boot({subject.boot, machine}));
  if (parameters.empty()) {
    return Error{Errc::invalid,
                 "nothing to do: no memory option has different values in two places",
                 "headroom check"};
  }
  Change change =
      start(subject, option_overridden_fix, "Give each memory option the same value everywhere");
  HEADROOM_TRY(BootSteps steps, plan_parameters({subject.boot, machine, subject.options.trial},
                                                parameters, subject.options.via));
  if (steps.steps.empty()) {
    return Error{Errc::invalid, "nothing to do but reboot: the files already have the same value",
                 "sudo reboot   (then headroom check)"};
  }
  change.forecast = forecast_of(subject, parameters);
  for (const ParameterChange& one : parameters) {
    change.notes.push_back(
        fmt::format("{}={} is in force now, and stays. The other places had another value.",
                    one.name(), *one.value));
  }
  add_to(change, std::move(steps));
  add_confirm_unit(change, subject.boot, subject.options);
  return change;
}

Result<Change> renew_initramfs(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  if (machine.in_container()) return in_container(subject);
  if (!is_diagnosed(subject.diagnosis, option_not_in_force_fix.id)) {
    return not_needed(option_not_in_force_fix.id, "no option here waits for a new initramfs");
  }
  std::vector<ParameterChange> parameters;
  std::set<std::string> files;
  const facts::MachineFacts next = at_next_boot({subject.boot, machine});
  for (const ModuleOption& option : next.options) {
    const bool counts = next.option(option.module, option.key) == &option;
    if (!is_memory_module(option.module) || !counts || is_kernel_argument(option)) continue;
    parameters.push_back({option.module, option.key, option.value});
    files.insert(option.source.path);
  }
  if (parameters.empty()) {
    return Error{Errc::invalid, "nothing to do: no file in modprobe.d sets a memory option here",
                 "headroom check"};
  }
  Change change =
      start(subject, option_not_in_force_fix, "Put the options of modprobe.d into the initramfs");
  change.steps = initramfs_or_by_hand({subject.boot, machine}, {files.begin(), files.end()});
  change.forecast = forecast_of(subject, parameters);
  change.notes = {
      "The driver is loaded from the initramfs, which has its own copy of modprobe.d. A file that "
      "changed since has no effect until the initramfs is rebuilt."};
  add_confirm_unit(change, subject.boot, subject.options);
  return change;
}

}  // namespace

constinit const Fix option_overridden_fix = {
    .id = "option-overridden",
    .meaning = "Gives a module option with different values in two places the same value in both.",
    .takes = "--via WAY",
    .applies = applies<option_overridden_fix>,
    .plan = set_alike,
};

constinit const Fix option_not_in_force_fix = {
    .id = "option-not-in-force",
    .meaning = "Rebuilds the initramfs, so that the options in modprobe.d take effect.",
    .takes = "",
    .applies = applies<option_not_in_force_fix>,
    .plan = renew_initramfs,
};

}  // namespace headroom::plan

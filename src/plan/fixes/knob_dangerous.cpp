// SPDX-License-Identifier: Apache-2.0
// knob-dangerous: takes out the settings that the audit calls dangerous: variables from the files
// that they stand in, module parameters from the next boot. Overrides of the target and memory
// limits have fixes of their own.
#include <fmt/format.h>

#include <algorithm>

#include "plan/boot/boot_steps.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/settings/removal.h"

namespace headroom::plan {
namespace {

using findings::Judgement;

bool is_ours(const Judgement& judged, const knowledge::KnobTable& knobs) {
  const auto* knob = knobs.find(judged.name);
  return knob != nullptr && judged.verdict == findings::KnobVerdict::dangerous &&
         knob->value != knowledge::KnobValue::gfx && !knob->limit;
}

// "module.key" of the parameters to give back their defaults.
std::vector<ParameterChange> find_parameters(const FixSubject& subject) {
  std::vector<ParameterChange> changes;
  for (const Judgement& judged : subject.diagnosis.environment) {
    const std::size_t dot = judged.name.find('.');
    if (dot == std::string::npos || !is_ours(judged, subject.tables.knobs)) continue;
    ParameterChange change{judged.name.substr(0, dot), judged.name.substr(dot + 1), std::nullopt};
    const bool known = std::any_of(changes.begin(), changes.end(),
                                   [&](const auto& one) { return one.name() == change.name(); });
    if (!known) changes.push_back(std::move(change));
  }
  return changes;
}

Result<Change> make(const FixSubject& subject) {
  const Decision decide = [&](const Judgement& judged) {
    const bool variable = judged.name.find('.') == std::string::npos;
    return PlaceRewrite{
        variable && is_ours(judged, subject.tables.knobs) ? Rewrite::take_out : Rewrite::keep, ""};
  };
  Change change;
  change.fix = "knob-dangerous";
  change.title = "Remove settings that can take the machine down";
  change.words = subject.options.words;
  plan_removal(subject, decide, change);
  const auto parameters = find_parameters(subject);
  if (!parameters.empty()) {
    const BootSubject boot{subject.boot, subject.facts.machine, subject.options.trial};
    HEADROOM_TRY(BootSteps steps, plan_parameters(boot, parameters, subject.options.via));
    // Of what the next boot no longer has there is nothing to take out.
    if (!steps.steps.empty()) {
      add_to(change, std::move(steps));
      expect_the_same(subject, change);
    }
  }
  if (!change.steps.empty()) return change;
  return not_needed(change.fix, "no file that headroom reads has a setting that is dangerous here");
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix knob_dangerous_fix = {
    .id = "knob-dangerous",
    .meaning = "Removes settings that can take the machine down or lose work.",
    .takes = "--via WAY",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// knob-deprecated: gives settings whose maker renamed them their new name, wherever they stand. One
// that has no successor is left to its owner, because taking it out would change what it does.
#include <algorithm>

#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/settings/removal.h"

namespace headroom::plan {
namespace {

using findings::Judgement;

bool has_deprecated_limit(const FixSubject& subject) {
  const auto& settings = subject.diagnosis.environment;
  return std::any_of(settings.begin(), settings.end(), [&](const Judgement& judged) {
    const auto* knob = subject.tables.knobs.find(judged.name);
    return judged.verdict == findings::KnobVerdict::deprecated && knob != nullptr && knob->limit;
  });
}

Result<Change> make(const FixSubject& subject) {
  const Decision decide = [](const Judgement& judged) {
    const bool renamed = judged.verdict == findings::KnobVerdict::deprecated && judged.remains &&
                         judged.remains->first != judged.name &&
                         judged.name.find('.') == std::string::npos;
    return renamed ? PlaceRewrite{Rewrite::rename, judged.remains->first} : PlaceRewrite{};
  };
  Change change;
  change.fix = "knob-deprecated";
  change.title = "Give renamed settings their new names";
  change.words = subject.options.words;
  plan_removal(subject, decide, change);
  if (!change.steps.empty()) return change;
  if (has_deprecated_limit(subject)) {
    return Error{Errc::invalid,
                 "knob-deprecated: the old name of the GPU's memory limit is removed by the fix "
                 "that sets the limit",
                 "headroom fix ttm-cap"};
  }
  return not_needed(change.fix, "no file that headroom reads has a setting with an old name");
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix knob_deprecated_fix = {
    .id = "knob-deprecated",
    .meaning = "Renames settings that have a new name.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan

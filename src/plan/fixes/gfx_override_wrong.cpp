// SPDX-License-Identifier: Apache-2.0
// gfx-override-wrong: takes HSA_OVERRIDE_GFX_VERSION, and its form for one node, out of every file
// where the audit calls its value dangerous or needless on this machine's GPUs. One that suits a
// GPU without code of its own stays.
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/settings/removal.h"

namespace headroom::plan {
namespace {

using findings::Judgement;
using findings::KnobVerdict;

Result<Change> make(const FixSubject& subject) {
  const knowledge::KnobTable& knobs = subject.tables.knobs;
  const Decision decide = [&](const Judgement& judged) {
    const auto* knob = knobs.find(judged.name);
    const bool override = knob != nullptr && knob->value == knowledge::KnobValue::gfx;
    const bool wrong = judged.verdict == KnobVerdict::dangerous ||
                       (judged.verdict == KnobVerdict::no_effect && judged.setting.exported);
    return PlaceRewrite{override && wrong ? Rewrite::take_out : Rewrite::keep, ""};
  };
  Change change;
  change.fix = "gfx-override-wrong";
  change.title = "Remove an HSA_OVERRIDE_GFX_VERSION that does not match this machine's GPUs";
  change.words = subject.options.words;
  plan_removal(subject, decide, change);
  if (!change.steps.empty()) return change;
  std::string message =
      "no file that headroom reads sets an HSA_OVERRIDE_GFX_VERSION that has to be removed";
  for (const std::string& note : change.notes) message += ". " + note;
  return not_needed(change.fix, std::move(message));
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix gfx_override_wrong_fix = {
    .id = "gfx-override-wrong",
    .meaning =
        "Removes a wrong or unnecessary HSA_OVERRIDE_GFX_VERSION from the files that set it.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan

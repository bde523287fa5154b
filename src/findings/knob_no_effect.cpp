// SPDX-License-Identifier: Apache-2.0
// knob-no-effect: settings that change nothing here, such as options that do not exist yet or lack
// what they need, and variables that only a build reads. They are mentioned, not blamed.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(
      subject, {"knob-no-effect", KnobVerdict::no_effect, Severity::info, "does nothing here"});
}

}  // namespace

constinit const Rule knob_no_effect_rule = {
    .id = "knob-no-effect",
    .meaning = "A knob is set that changes nothing on this machine.",
    .why =
        "Options before they exist, or without the one they need, masks of another runtime, "
        "variables that only a build reads: they cost nothing and hide what does matter. A later "
        "reader takes them for the reason why things work.",
    .fix = "Take it out.",
    .find = find,
};

}  // namespace headroom::findings

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
    .meaning = "A setting changes nothing on this machine.",
    .why =
        "The option does not exist in this version, needs another option, belongs to another "
        "runtime, or is read by builds only. It costs nothing, but it hides what matters: a later "
        "reader takes it for the reason why things work.",
    .fix = "Remove it.",
    .find = find,
};

}  // namespace headroom::findings

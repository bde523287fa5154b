// SPDX-License-Identifier: Apache-2.0
// knob-debugging-aid: a setting from a search for a fault that was never removed; it costs time in
// every run.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject, {"knob-debugging-aid", KnobVerdict::debugging, Severity::warning,
                              "is a debugging aid that was left on"});
}

}  // namespace

constinit const Rule knob_debugging_aid_rule = {
    .id = "knob-debugging-aid",
    .meaning = "A debugging aid or workaround is set for everything that runs.",
    .why =
        "Such settings make the GPU wait for every kernel, print every call or switch a cache off. "
        "They belong in the one run that looks for a fault. After that they only cost time.",
    .fix = "Remove it, and set it for a single run when you need it.",
    .find = find,
};

}  // namespace headroom::findings

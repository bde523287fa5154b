// SPDX-License-Identifier: Apache-2.0
// knob-dangerous: settings that turn a clean failure into a machine that no longer answers.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject,
                    {"knob-dangerous", KnobVerdict::dangerous, Severity::warning, "is dangerous"});
}

}  // namespace

constinit const Rule knob_dangerous_rule = {
    .id = "knob-dangerous",
    .meaning = "A setting can take the machine down or lose work.",
    .why =
        "Without the limit, a job that would fail cleanly makes the machine swap until you have to "
        "switch it off. A forced reset can leave a card dead until its power is cut.",
    .fix = "Remove it.",
    .find = find,
};

}  // namespace headroom::findings

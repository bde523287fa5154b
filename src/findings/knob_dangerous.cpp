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
    .meaning = "A knob is set that can take the machine down or lose work.",
    .why =
        "Lifted limits turn a job that would fail cleanly into a machine that swaps until it has "
        "to be switched off; forced resets can leave a card dead until power is cut.",
    .fix = "Take it out.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// knob-contradictory: a cache tuned and switched off at once, masks that leave no GPU, one name
// with two values.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject, {"knob-contradictory", KnobVerdict::contradictory, Severity::warning,
                              "contradicts another setting"});
}

}  // namespace

constinit const Rule knob_contradictory_rule = {
    .id = "knob-contradictory",
    .meaning =
        "Two settings exclude each other, or one setting has different values in two places.",
    .why =
        "One of the two wins, and nothing near them says which. For example, a cache is tuned and "
        "switched off at the same time, or two masks together leave no GPU.",
    .fix = "Keep one of the two, in one place.",
    .find = find,
};

}  // namespace headroom::findings

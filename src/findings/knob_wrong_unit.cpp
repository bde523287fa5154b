// SPDX-License-Identifier: Apache-2.0
// knob-wrong-unit: an amount that this machine cannot have, while in another unit it could. Derived
// from unit, range and the size of the machine; no list of known mistakes.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject, {"knob-wrong-unit", KnobVerdict::wrong_unit, Severity::warning,
                              "is in the wrong unit"});
}

}  // namespace

constinit const Rule knob_wrong_unit_rule = {
    .id = "knob-wrong-unit",
    .meaning = "A number is in the wrong unit, or outside the setting's range.",
    .why =
        "TTM counts pages, gttsize counts MiB and vm_size counts GiB. None of them says so when it "
        "is set. The result is a thousand times too large, or so small that jobs fail.",
    .fix = "Write the number in the setting's own unit.",
    .find = find,
};

}  // namespace headroom::findings

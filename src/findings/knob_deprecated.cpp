// SPDX-License-Identifier: Apache-2.0
// knob-deprecated: settings that their makers have announced to remove.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject,
                    {"knob-deprecated", KnobVerdict::deprecated, Severity::info, "is deprecated"});
}

}  // namespace

constinit const Rule knob_deprecated_rule = {
    .id = "knob-deprecated",
    .meaning = "A setting is deprecated.",
    .why =
        "It still works. It will stop working with some later update, and nobody will connect the "
        "two.",
    .fix = "Use its replacement.",
    .find = find,
};

}  // namespace headroom::findings

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
    .meaning = "A knob is set that its maker has deprecated.",
    .why = "It still works, and will stop doing so with an update that nobody connects with it.",
    .fix = "Use what took its place.",
    .find = find,
};

}  // namespace headroom::findings

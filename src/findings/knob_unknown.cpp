// SPDX-License-Identifier: Apache-2.0
// knob-unknown: a name or value that nothing reads, with the one that was probably meant.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject, {"knob-unknown", KnobVerdict::unknown, Severity::warning,
                              "is mistyped, so nothing reads it"});
}

}  // namespace

constinit const Rule knob_unknown_rule = {
    .id = "knob-unknown",
    .meaning = "A name or a value is mistyped, so nothing reads it.",
    .why =
        "The kernel only logs an unknown module parameter. Nothing reports an unknown variable. "
        "PyTorch stops at an unknown allocator option.",
    .fix = "Correct the name.",
    .find = find,
};

}  // namespace headroom::findings

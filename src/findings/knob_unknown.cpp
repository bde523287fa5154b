// SPDX-License-Identifier: Apache-2.0
// knob-unknown: a name or value that nothing reads, with the one that was probably meant.
#include "findings/knob_findings.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_knobs(subject, {"knob-unknown", KnobVerdict::unknown, Severity::warning,
                              "is mistyped, and not read"});
}

}  // namespace

constinit const Rule knob_unknown_rule = {
    .id = "knob-unknown",
    .meaning = "A name or a value is mistyped: nothing reads it.",
    .why =
        "An unknown module parameter is only noted in the kernel log, an unknown variable not at "
        "all; PyTorch stops at an unknown allocator option.",
    .fix = "Write the name as it is.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// What the seven knob rules share: one finding for all places that set one knob to one value, from
// the audit's judgements of a verdict.
#pragma once

#include <string>
#include <vector>

#include "findings/knob_audit.h"
#include "findings/rules.h"

namespace headroom::findings {

struct KnobRule {
  std::string id;
  KnobVerdict verdict;
  Severity severity;
  std::string title;  // What follows "NAME=VALUE ".
};
// For whom a setting holds: "for every login", "for this service".
std::string holds_for(const facts::Setting& setting);

std::vector<Finding> find_knobs(const Subject& subject, const KnobRule& rule);

}  // namespace headroom::findings

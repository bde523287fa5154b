// SPDX-License-Identifier: Apache-2.0
// What the seven knob rules share: they turn the audit's judgements with one verdict into findings,
// one for all places that set a knob to the same value.
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
  std::string title;  // The title's words after "NAME=VALUE ".
};
// Says where a setting applies: "for every login", "for this service".
std::string holds_for(const facts::Setting& setting);

std::vector<Finding> find_knobs(const Subject& subject, const KnobRule& rule);

}  // namespace headroom::findings

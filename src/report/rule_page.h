// SPDX-License-Identifier: Apache-2.0
// The pages of docs/rules/: what a rule finds, why it matters and what to do, from the text beside
// its code. A test writes them and fails where they are out of date.
#pragma once

#include <string>
#include <vector>

#include "findings/rules.h"

namespace headroom::report {

// A test machine on which the rule speaks.
struct RuleExample {
  std::string machine;  // "strix-halo-half", of tests/machines.
  findings::Finding finding;
};

std::string to_markdown(const findings::Rule& rule, const std::vector<RuleExample>& examples);

// docs/rules/README.md: every rule in the order of precedence, with a link to its page.
std::string rules_index();

}  // namespace headroom::report

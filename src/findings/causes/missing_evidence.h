// SPDX-License-Identifier: Apache-2.0
// Finds what a log lacks, and the commands that would show it on the machine that wrote the log:
// the messages of its kernel, service or container in the minutes in question.
#pragma once

#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct MissingEvidence {
  std::vector<std::string> reasons;   // What the log has, and what it does not tell.
  std::vector<std::string> commands;  // The most promising first.
};

// `last` is the last failure that stands; nullptr if the log reports none.
MissingEvidence find_missing_evidence(const LogSubject& subject, const logs::Observation* last);

// Returns the time two minutes before a log's time, for journalctl's --since: "2024-09-09 18:23
// UTC". Empty if the log's time has no date.
std::string shortly_before(const std::string& time);

}  // namespace headroom::findings

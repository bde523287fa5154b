// SPDX-License-Identifier: Apache-2.0
// What a log lacks, and the commands that would show it on the machine that wrote it: where its
// kernel, its service or its container keep their own words, and for which minutes.
#pragma once

#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct MissingEvidence {
  std::vector<std::string> reasons;   // What is there, and what it does not tell.
  std::vector<std::string> commands;  // In the order of what they are likely to show.
};

// `last` is the last failure that stands; nullptr if the log reports none.
MissingEvidence find_missing_evidence(const LogSubject& subject, const logs::Observation* last);

// Two minutes before a time as logs write it, for journalctl's --since: "2024-09-09 18:23 UTC".
// Empty if it tells no date.
std::string shortly_before(const std::string& time);

}  // namespace headroom::findings

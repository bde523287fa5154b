// SPDX-License-Identifier: Apache-2.0
// The lines in which somebody may tell of a trial: sentences, and the short notes and tables that a
// signature knows by their words. A program's own lines are no tale.
#pragma once

#include <string_view>
#include <vector>

#include "logs/observation.h"

namespace headroom::findings {

// Returns the sentences and the observations of `signature`, each line once, in their order; only
// the latter of a document, which tells of many things.
std::vector<const logs::Observation*> told_lines(const logs::Observations& log,
                                                 std::string_view signature);

// What is said of versions, by its outcome in words or as a rate; each line once, in their order.
std::vector<const logs::Observation*> told_lines_of_versions(const logs::Observations& log);

// Whether a program is known to print the line, or it was typed.
bool is_printed_line(const logs::Observations& log, const logs::Observation& line);

}  // namespace headroom::findings

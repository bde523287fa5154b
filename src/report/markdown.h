// SPDX-License-Identifier: Apache-2.0
// Text of others in Markdown: a log's own characters must not become markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/finding.h"

namespace headroom::report {

// One line of at most 160 characters, fit for a sentence and for a cell of a table.
std::string markdown_cell(std::string_view text);
// "1. `headroom check`": commands whole, sentences as they are.
std::string markdown_steps(const std::vector<findings::Step>& steps);
// "- what it says, where", with the line as it was read below.
std::string markdown_evidence(const std::vector<findings::Evidence>& evidence);

}  // namespace headroom::report

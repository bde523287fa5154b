// SPDX-License-Identifier: Apache-2.0
// Parts of the page of a training run that say how it was set: what "auto" chose and why, what it
// did not take, all other settings, and what the report does not know.
#pragma once

#include <string>

#include "base/document_fwd.h"

namespace headroom::report {

// Each takes report.json and returns HTML; empty where the report has nothing to say there.
std::string automatic_table(const Json& report);
std::string settings_table(const Json& report);
std::string unknowns_list(const Json& report);

}  // namespace headroom::report

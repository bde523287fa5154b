// SPDX-License-Identifier: Apache-2.0
// What became of a supervised command, for programs: docs/schema/run.schema.json.
#pragma once

#include <string>

#include "supervisor/attempt.h"

namespace headroom::report {

// Why figures of the report are not known.
struct RunUnknowns {
  std::string no_group_peak;  // No attempt has one of its control group; empty: it has.
  std::string no_gpu_memory;  // No attempt has any; empty: it may.
};

// With a line end.
std::string to_json_text(const supervisor::RunReport& report, const RunUnknowns& unknowns);

}  // namespace headroom::report

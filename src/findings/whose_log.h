// SPDX-License-Identifier: Apache-2.0
// Whether a log was written on the machine that was measured. Programs print the GPUs that they
// find; if none of them is the machine's, the log is another machine's, and is answered alone.
#pragma once

#include "facts/facts.h"
#include "findings/log_diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "logs/observation.h"

namespace headroom::findings {

// Returns the first target that the log prints if the machine has none of those that it prints, nor
// a GPU that is known to run under an override as one of them; or the first GPU memory that it
// prints if no GPU here can have any that it prints. Missing otherwise, so also where either of the
// two is not known.
facts::Text printed_elsewhere(const logs::Observations& log, const facts::Facts& machine,
                              const knowledge::GpuTables& tables);

// Says in the answer that the machine does not count, and by which line that shows.
void say_elsewhere(const facts::Text& printed, LogDiagnosis& diagnosis);

}  // namespace headroom::findings

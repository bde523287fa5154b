// SPDX-License-Identifier: Apache-2.0
// The keys of a job that say on what its model is evaluated, and how often.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// data.evaluation and data.evaluate_every; a problem is the reader's.
void read_evaluation(TableReader& table, Job::Data& data);

}  // namespace headroom::estimate

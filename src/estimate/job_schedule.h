// SPDX-License-Identifier: Apache-2.0
// The keys of a job that decide how large a step of the optimizer is: schedule, warm-up, clipping.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// optimizer.schedule, warmup_steps, warmup_ratio and max_grad_norm; a problem is the reader's.
void read_schedule(TableReader& table, Job::Optimizer& optimizer);

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// The keys of a job that only some optimizers have: SGD's momentum, Adafactor's ways to a rate.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// optimizer.learning_rate, weight_decay, momentum, nesterov, relative_step, scale_parameter,
// warmup_init and clip_threshold, with the defaults that the optimizer of this kind has in torch
// and transformers; a problem is the reader's. Requires: kind and schedule have been read.
void read_optimizer_rates(TableReader& table, Job::Optimizer& optimizer);

}  // namespace headroom::estimate

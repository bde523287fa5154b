// SPDX-License-Identifier: Apache-2.0
// The keys of a job that say what its model is trained on, and how that is written.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// data.path, data.kind, data.dtype, data.tokenizer, data.template and
// data.packing; a problem is the reader's.
void read_training_data(TableReader& table, Job::Data& data);

}  // namespace headroom::estimate

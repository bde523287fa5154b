// SPDX-License-Identifier: Apache-2.0
// compute.use_liger_kernel and compute.liger_kernel_config, as TrainingArguments has them.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// A problem is the reader's.
void read_liger(TableReader& compute, Job::Compute::Liger& liger);
// Writes what was read; nothing where the kernels are off.
void write_liger(const Job::Compute::Liger& liger, Json& compute);

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// The keys of a job for what PEFT trains: modules with adapters, and modules that it copies.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// method.targets and method.modules_to_save; requires that method.kind has been read. A problem is
// the reader's.
void read_adapted_modules(TableReader& method, Job::Method& into);

}  // namespace headroom::estimate

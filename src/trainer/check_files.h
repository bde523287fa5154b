// SPDX-License-Identifier: Apache-2.0
// That nothing a run writes takes the place of what it reads.
#pragma once

#include "machine/output_files.h"
#include "trainer/training.h"

namespace headroom::trainer {

// Looks at the trace and at every file that will lie in the output folder, before any of them is
// made. Fails (invalid) where one is an input or where two are one file.
Status check_files(const TrainRequest& request, const machine::InputFiles& inputs);

}  // namespace headroom::trainer

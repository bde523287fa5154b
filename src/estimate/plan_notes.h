// SPDX-License-Identifier: Apache-2.0
// What a plan says beside its figures about a model and how the job runs it: settings that do not
// do what they seem to ask for, and what of it was never compared with PyTorch.
#pragma once

#include "estimate/plan.h"

namespace headroom::estimate {

// Adds to plan.notes. `given` is the job as it was written, `job` as it is planned; plan.components
// and plan.allocated_bytes are known.
void note_model(const Job& given, const Job& job, const Architecture& model, const Device& device,
                Plan& plan);

}  // namespace headroom::estimate

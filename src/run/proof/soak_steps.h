// SPDX-License-Identifier: Apache-2.0
// The load of `headroom test --level soak` on one device, and what is read of the device meanwhile.
#pragma once

#include <vector>

#include "base/result.h"
#include "proof/device_pairing.h"
#include "proof/frameworks.h"
#include "proof/step.h"
#include "run/proof/step_host.h"

namespace headroom::run {

// The steps of proof::soak_kinds(). Blocks for StepHost::soak and no more than some minutes longer.
// Fails where the interpreter cannot be started. Requires: the framework is PyTorch.
Result<std::vector<proof::StepResult>> soak_device(const StepHost& host,
                                                   const proof::Framework& framework,
                                                   const proof::DeviceToTest& device);

}  // namespace headroom::run

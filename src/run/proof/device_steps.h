// SPDX-License-Identifier: Apache-2.0
// All steps on one device: those after a step that took its process with it go on in a new one.
#pragma once

#include "base/result.h"
#include "proof/device_pairing.h"
#include "proof/frameworks.h"
#include "proof/step.h"
#include "run/proof/step_host.h"

namespace headroom::run {

// The steps of docs/test.md in their order, each done, failed or skipped with the reason. Fails
// where the interpreter cannot be started.
Result<std::vector<proof::StepResult>> test_device(const StepHost& host,
                                                   const proof::Framework& framework,
                                                   const proof::DeviceToTest& device);

// A device of which nothing could be tested: `import`, and the others skipped for `reason`.
std::vector<proof::StepResult> only_import(const StepHost& host, proof::StepResult import,
                                           const std::string& reason);

}  // namespace headroom::run

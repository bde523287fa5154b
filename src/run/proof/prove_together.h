// SPDX-License-Identifier: Apache-2.0
// A proof of what several devices do together in the user's own PyTorch.
#pragma once

#include "base/result.h"
#include "proof/together.h"
#include "run/proof/step_host.h"

namespace headroom::run {

// The steps of docs/test.md's --multi between all GPUs that PyTorch sees; with fewer than two of
// them between two ranks on the processor. Each in processes of its own, which a hang or a fault
// may take with them; nothing that it started is left when it returns. Blocks for some minutes.
// Fails where the interpreter cannot be started, and with not_found where it has no PyTorch.
Result<proof::TogetherReport> prove_together(const StepHost& host);

}  // namespace headroom::run

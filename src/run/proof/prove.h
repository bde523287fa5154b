// SPDX-License-Identifier: Apache-2.0
// A proof of what the user's own Python does on this machine's devices.
#pragma once

#include "base/result.h"
#include "proof/step.h"
#include "run/proof/step_host.h"

namespace headroom::run {

// Asks PyTorch for its devices and tests each; where neither it nor the machine has a GPU, the
// processor. GPUs that jobs could use and that it does not see are devices whose import failed,
// with the cause that the machine's diagnosis has for it. Blocks, for minutes on a GPU; nothing
// that it started is left when it returns. Requires: the facts' Python has PyTorch. Fails where the
// interpreter cannot be started.
Result<proof::ProofReport> prove(const StepHost& host);

}  // namespace headroom::run

// SPDX-License-Identifier: Apache-2.0
// A proof of what the user's own Python does on this machine's devices.
#pragma once

#include "base/result.h"
#include "proof/step.h"
#include "run/proof/step_host.h"

namespace headroom::run {

// Asks each framework that the Python has for its devices and tests each; where neither it nor the
// machine has a GPU, the processor. GPUs that jobs could use and that PyTorch, or the only
// framework, does not see are devices whose import failed, with the cause that the machine's
// diagnosis has for PyTorch; another framework that sees none is a remark. Blocks, for minutes on a
// GPU; nothing that it started is left when it returns. Fails where the interpreter cannot be
// started, and with not_found where it has none of the frameworks.
Result<proof::ProofReport> prove(const StepHost& host);

}  // namespace headroom::run

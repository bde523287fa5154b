// SPDX-License-Identifier: Apache-2.0
// A trial of all frameworks of one Python: each is imported, asked for its devices, held against
// numbers that need no framework, and trains the job in a process of its own, so that its peak is
// the job's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proof/trial.h"
#include "run/proof/step_host.h"

namespace headroom::run {

struct Trial {
  const proof::TrialJob& job;
  std::optional<std::uint64_t> planned_bytes;  // Of PyTorch, on this machine's device.
  std::string not_planned;                     // Why there is none.
  // Where the Python is: one of the two.
  std::string python, image;
};

// The rows, at least one: a Python that cannot be started or has no framework is a row that failed
// at its import. Blocks, for minutes on a large job; nothing that it started is left when it
// returns. A training's time is the host's limit, or that of its kind.
std::vector<proof::StackResult> try_stacks(const StepHost& host, const Trial& trial);

}  // namespace headroom::run

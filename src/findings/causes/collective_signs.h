// SPDX-License-Identifier: Apache-2.0
// Finds signs that a job on several GPUs is stuck in a collective operation, which both rccl-p2p
// and collective-hang need.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct CollectiveSigns {
  const logs::Observation* timeout = nullptr;  // A watchdog gave up.
  const logs::Observation* apart = nullptr;    // The ranks did not even find each other.
  const logs::Observation* error = nullptr;    // RCCL reports an error.
  const logs::Observation* stands = nullptr;   // A thread was seen inside a collective.
  const logs::Observation* stopped =
      nullptr;                                // A remark, Ctrl-C or the kernel: it goes no further.
  const logs::Observation* silent = nullptr;  // RCCL was set up, and nothing came after it.
  const logs::Observation* waits = nullptr;   // vLLM's processes wait for one of them.
  bool several = false;                       // The job is known to have more than one rank.

  // The surest sign that there is; nullptr if there is none.
  const logs::Observation* first() const;
};

CollectiveSigns find_collective_signs(const logs::Observations& log);

// A run of rccl-tests that measured nothing before somebody typed the next command; nullptr if
// there is none.
const logs::Observation* test_without_result(const logs::Observations& log);

// A failure before `line` that is not about the collective: one rank died, and the others wait for
// it.
const logs::Observation* failure_before(const logs::Observations& log,
                                        const logs::Observation& line);

}  // namespace headroom::findings

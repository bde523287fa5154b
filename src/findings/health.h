// SPDX-License-Identifier: Apache-2.0
// Whether jobs can run on a machine's GPUs, for what asks by a code: monitors, load balancers, the
// prologs of batch systems. Its names and codes are docs/serve.md's, and stay.
#pragma once

#include <cstdint>

#include "findings/finding.h"

namespace headroom::findings {

// The values are exit codes, those of node-problem-detector's custom plug-ins.
enum class Health : std::uint8_t {
  fine = 0,     // ok, limited
  problem = 1,  // broken, unsuitable, no-gpu
  unknown = 2,
};

Health health_of(Verdict verdict);

}  // namespace headroom::findings

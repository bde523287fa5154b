// SPDX-License-Identifier: Apache-2.0
// A GPU that lspci, lshw or inxi shows without a driver, which both kernel-too-old and
// driver-not-loaded explain.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The line of `lspci -k`, `lshw` or `inxi -G` that names an AMD GPU which no driver has; nullptr if
// there is none. A list of lspci's without any driver's or module's name tells nothing, because it
// was made without -k.
const logs::Observation* unbound_gpu(const logs::Observations& log);

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// hipBLASLt, which PyTorch and rocBLAS choose by themselves or because a variable asks for it.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Finds hipBLASLt's refusal of the GPU although a variable had switched it off before. Then nobody
// forces it, and the fault is the framework's. Returns nullptr if there is none.
const logs::Observation* refused_when_off(const LogSubject& subject);

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// What a program has to compute with, where nothing failed: the files of its back-ends as somebody
// lists them, its own answer to the question, and what it then chose.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The line in which a server says that it computes on the CPU, if an AMD GPU is known to be there
// and the server took it at no time; nullptr otherwise.
const logs::Observation* chose_cpu(const LogSubject& subject);

struct BackendSign {
  const logs::Observation* line = nullptr;  // nullptr: there is none.
  double confidence = 0;
};

// What shows that a program has no back-end for AMD GPUs.
BackendSign find_no_amd_backend(const LogSubject& subject);

}  // namespace headroom::findings

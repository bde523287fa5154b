// SPDX-License-Identifier: Apache-2.0
// Builds other than PyTorch's that come in several kinds under nearly one name, where the plain one
// is not for ROCm: ollama's image, and JAX and TensorFlow from PyPI.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct PlainBuild {
  const logs::Observation* seen = nullptr;  // nullptr if there is none.
  double confidence = 0;
};

// The surest sign that the plain build is in use, and that it found no GPU.
PlainBuild find_plain_build(const LogSubject& subject);

bool is_plain_build(const logs::Observation& sign);
// Requires: the sign is of a plain build.
void advise_other_build(const logs::Observation& sign, Hypothesis& wrong);

}  // namespace headroom::findings

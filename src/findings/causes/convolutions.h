// SPDX-License-Identifier: Apache-2.0
// Memory that a convolution asks for beside its result. MIOpen tries several ways before it keeps
// one, and some want a workspace many times as large as the images (MIOpen: "Find modes").
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Adds what helps if the allocation failed in a convolution or while images were decoded (VAE).
void advise_convolutions(const LogSubject& subject, Hypothesis& big);

}  // namespace headroom::findings

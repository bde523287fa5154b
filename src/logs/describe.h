// SPDX-License-Identifier: Apache-2.0
// An observation in words.
#pragma once

#include <string>

#include "logs/observation.h"

namespace headroom::logs {

// What a line says, for people: the signature's words with this line's values. Where a value is not
// there, the brackets around it are left out, and outside of brackets it is "an unknown value". A
// signature without words yields the line itself.
std::string describe(const Observation& observation);

}  // namespace headroom::logs

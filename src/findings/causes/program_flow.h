// SPDX-License-Identifier: Apache-2.0
// Places a line in the course of a program: did something fail before it, and did the program go on
// after it?
#pragma once

#include "logs/observation.h"

namespace headroom::findings {

// Whether an earlier failure in the same log may have led to this one.
bool follows_another_failure(const logs::Observations& log, const logs::Observation& seen);
// Whether the program came further after this line: something else failed later, or it did its
// work.
bool goes_on_after(const logs::Observations& log, const logs::Observation& seen);

}  // namespace headroom::findings

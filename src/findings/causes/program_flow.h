// SPDX-License-Identifier: Apache-2.0
// Where a line stands in the course of a program: whether something failed before it, and whether
// the program went on after it.
#pragma once

#include "logs/observation.h"

namespace headroom::findings {

// Another failure before it in the same log, from which it may follow.
bool follows_another_failure(const logs::Observations& log, const logs::Observation& seen);
// The program came further after this line: something else failed in it later, or it did its work.
bool goes_on_after(const logs::Observations& log, const logs::Observation& seen);

}  // namespace headroom::findings

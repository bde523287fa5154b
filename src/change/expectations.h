// SPDX-License-Identifier: Apache-2.0
// What must be true of the machine's files once a step is done (plan::Expectation).
#pragma once

#include "base/result.h"
#include "machine/writable_files.h"
#include "plan/step.h"

namespace headroom::change {

// Fails with invalid, and says what was expected where and what is there.
Status check(const machine::WritableFiles& files, const plan::Expectation& expectation);

}  // namespace headroom::change

// SPDX-License-Identifier: Apache-2.0
// What each engine can do of what a job may ask for.
#pragma once

#include "base/result.h"
#include "estimate/job.h"

namespace headroom::estimate {

// The first thing that the job's engine cannot do, with what it can. A command of the user's own
// cannot be planned at all.
Status check_engine(const Job& job);

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// Whether this machine can give a job the memory that it is planned with.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "estimate/plan.h"
#include "facts/memory_room.h"

namespace headroom::cli {

// What to say before a job is run that trains in the machine's own memory (engine.kind =
// "headroom") and is planned with more than `rooms` have: its peak with more than is left now, or
// its capacity with more than could ever be. Nothing where all is well, or nobody knows.
std::optional<Error> warn_of_host_memory(const estimate::Plan& plan,
                                         const std::vector<facts::MemoryRoom>& rooms);

// The same of this machine as it is now.
std::optional<Error> warn_of_host_memory(const estimate::Plan& plan);

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
// The control groups that limit this process, from its own group up to the root of the tree.
#pragma once

#include "facts/machine_facts.h"
#include "machine/files.h"

namespace headroom::probe {

// Of a captured machine without /proc/self: the limits at the root of its tree.
facts::CgroupLimits read_cgroup(const machine::Files& files);

}  // namespace headroom::probe

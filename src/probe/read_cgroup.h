// SPDX-License-Identifier: Apache-2.0
// The control groups that limit this process, from its own group up to the root of the tree.
#pragma once

#include <string>
#include <vector>

#include "facts/machine_facts.h"
#include "machine/files.h"

namespace headroom::probe {

// "/a/b" → "/a/b", "/a", "": every group that a process in /a/b is in, its own first.
std::vector<std::string> groups_upward(std::string group);

// Of a captured machine without /proc/self: the limits at the root of its tree.
facts::CgroupLimits read_cgroup(const machine::Files& files);

}  // namespace headroom::probe

// SPDX-License-Identifier: Apache-2.0
// Reads the limits of this process's control groups, from its own group up to the root of the tree.
#pragma once

#include <string>
#include <vector>

#include "facts/machine_facts.h"
#include "machine/files.h"

namespace headroom::probe {

// Lists every group that a process in `group` is in, its own first: "/a/b" → "/a/b", "/a", "".
std::vector<std::string> groups_upward(std::string group);

// For a captured machine without /proc/self, reads the limits at the root of its tree.
facts::CgroupLimits read_cgroup(const machine::Files& files);

}  // namespace headroom::probe

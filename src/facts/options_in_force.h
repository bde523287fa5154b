// SPDX-License-Identifier: Apache-2.0
// modprobe.d against the kernel: which options ask for something that is not in force.
#pragma once

#include <optional>
#include <vector>

#include "facts/facts.h"

namespace headroom::facts {

// Options of files whose parameter the kernel has with another value, one per parameter: the entry
// that counts. Not among them: what the command line sets, what may not be read, and limits that
// were in force when the driver loaded and were written over since. They point into `facts`.
std::vector<const ModuleOption*> options_not_in_force(const Facts& facts);

// What the running kernel's initramfs sets the parameter to, in its copy of the option's file.
// Nothing where the copy does not set it, or could not be read.
std::optional<ModuleOption> find_in_initramfs(const MachineFacts& machine,
                                              const ModuleOption& option);
// Whether the running kernel's initramfs was seen to hold this option of a file as the file has it.
// An image that could not be read was not seen to.
bool is_in_initramfs(const MachineFacts& machine, const ModuleOption& option);

// Whether two values of a parameter are one: booleans are written 1 and reported Y.
bool same_value(std::string_view a, std::string_view b);

}  // namespace headroom::facts

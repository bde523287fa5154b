// SPDX-License-Identifier: Apache-2.0
// Reads one folder of Python packages, and the torch in it.
#pragma once

#include <string>

#include "facts/python_stack.h"
#include "machine/files.h"

namespace headroom::probe {

// Adds the packages of interest in the folder. As in Python, packages of an earlier folder hide
// later ones. A folder that cannot be listed adds nothing.
void read_packages(const machine::Files& files, const std::string& folder,
                   facts::PythonStack& stack);

}  // namespace headroom::probe

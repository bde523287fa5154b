// SPDX-License-Identifier: Apache-2.0
// One folder of Python packages, and the torch in it.
#pragma once

#include <string>

#include "facts/python_stack.h"
#include "machine/files.h"

namespace headroom::probe {

// Adds what the folder holds of interest; what an earlier folder holds already hides it, as in
// Python. A folder that cannot be listed adds nothing.
void read_packages(const machine::Files& files, const std::string& folder,
                   facts::PythonStack& stack);

}  // namespace headroom::probe

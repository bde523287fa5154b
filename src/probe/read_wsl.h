// SPDX-License-Identifier: Apache-2.0
// Reads how far the way to a GPU goes in Windows's subsystem for Linux.
#pragma once

#include "facts/machine_facts.h"
#include "facts/python_stack.h"
#include "facts/wsl.h"
#include "machine/files.h"

namespace headroom::probe {

// Outside of WSL it only finds that out, and reads nothing else.
facts::Wsl read_wsl(const machine::Files& files, const facts::MachineFacts& machine,
                    const facts::PythonStack& python);

}  // namespace headroom::probe

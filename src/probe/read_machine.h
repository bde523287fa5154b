// SPDX-License-Identifier: Apache-2.0
// Reads the machine around the GPUs: kernel, memory, module options, container, control groups.
#pragma once

#include "facts/machine_facts.h"
#include "machine/files.h"

namespace headroom::probe {

facts::MachineFacts read_machine(const machine::Files& files);

}  // namespace headroom::probe

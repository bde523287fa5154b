// SPDX-License-Identifier: Apache-2.0
// Reads the Facts of a machine: what check needs and nothing else; it never writes. It opens no
// device node and no debugfs file (some of those reset the GPU when read), and reads no file that
// wakes a sleeping GPU.
#pragma once

#include <string>

#include "facts/facts.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"
#include "probe/read_shell.h"

namespace headroom::probe {

// Fails with not_found only if the root is no machine, with neither /proc nor /sys in it. Anything
// else that cannot be read is a missing fact.
Result<facts::Facts> probe(const machine::Files& files, const knowledge::GpuTables& tables,
                           const Surroundings& surroundings = {});

}  // namespace headroom::probe

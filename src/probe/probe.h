// SPDX-License-Identifier: Apache-2.0
// Machine → Facts: reads what check needs and nothing else, and never writes. It opens no device
// node and no debugfs file (some of those reset the GPU when read), and reads no file that wakes a
// sleeping GPU.
#pragma once

#include <string>

#include "facts/facts.h"
#include "knowledge/gpu_tables.h"
#include "machine/files.h"

namespace headroom::probe {

// What main knows and the files do not: the shell that headroom was started from.
struct Surroundings {
  facts::Variables environment;  // Believed on the real root only.
  std::string python;            // --python; empty: look for one.
};

// Fails with not_found only if the root is no machine: neither /proc nor /sys is in it. Anything
// else that cannot be read is a fact that is missing.
Result<facts::Facts> probe(const machine::Files& files, const knowledge::GpuTables& tables,
                           const Surroundings& surroundings = {});

}  // namespace headroom::probe

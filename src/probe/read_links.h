// SPDX-License-Identifier: Apache-2.0
// How the GPUs are connected: PCIe links up to the root port, IOMMU, ACS, NUMA; and the shared and
// locked memory that many GPUs need. A sleeping GPU's link is left alone: reading it would wake it.
#pragma once

#include "facts/facts.h"
#include "machine/files.h"

namespace headroom::probe {

// Fills each GPU's connection and the interconnect, apart from the links that KFD records.
// `facts.gpus` and `facts.machine` are filled in already.
void read_links(const machine::Files& files, facts::Facts& facts);

}  // namespace headroom::probe

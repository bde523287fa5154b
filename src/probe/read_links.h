// SPDX-License-Identifier: Apache-2.0
// How the GPUs are connected: PCIe links up to the root port, IOMMU, ACS, NUMA; and the shared and
// locked memory that many GPUs need. A sleeping GPU's link is left alone: reading it would wake it.
#pragma once

#include "facts/facts.h"
#include "machine/files.h"
#include "probe/read_gpus.h"

namespace headroom::probe {

// Fills each GPU's connection and the interconnect, and counts the devices under the masks.
// `facts.gpus`, `facts.machine` and `facts.masks` are filled in already.
void read_links(const machine::Files& files, const Topology& topology, facts::Facts& facts);

}  // namespace headroom::probe

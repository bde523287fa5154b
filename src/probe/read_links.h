// SPDX-License-Identifier: Apache-2.0
// Reads how the GPUs are connected: PCIe links up to the root port, IOMMU, ACS, NUMA; and the
// limits on shared and locked memory, which jobs on several GPUs need. A sleeping GPU's link is not
// read, because that would wake it.
#pragma once

#include "facts/facts.h"
#include "machine/files.h"
#include "probe/read_gpus.h"

namespace headroom::probe {

// Fills in each GPU's connection and the interconnect, and counts the devices that the masks apply
// to. Requires: `facts.gpus`, `facts.machine` and `facts.masks` are filled in.
void read_links(const machine::Files& files, const Topology& topology, facts::Facts& facts);

}  // namespace headroom::probe

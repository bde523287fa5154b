// SPDX-License-Identifier: Apache-2.0
// The graphics devices of a machine: on PCI, in DRM, and in KFD's topology.
#pragma once

#include <vector>

#include "facts/facts.h"
#include "machine/files.h"

namespace headroom::probe {

struct Devices {
  std::vector<facts::PciGpu> gpus;  // Every vendor's, each once.
  facts::Fact<bool> looked;  // Missing if neither PCI nor DRM could be listed, or not wholly read.
};
Devices read_devices(const machine::Files& files);

struct Topology {
  std::vector<facts::KfdNode> nodes;  // By number.
  facts::Fact<bool> present;          // /sys/class/kfd/kfd exists.
  facts::NoNode no_node;              // Why a GPU may lack its node.
  int withheld = 0;                   // Nodes whose properties may not be read.
  int unread = 0;                     // Nodes that may be GPUs and could not be read otherwise.
};
Topology read_topology(const machine::Files& files);

std::vector<facts::OtherGpu> read_other_gpus(const machine::Files& files,
                                             const std::vector<facts::PciGpu>& devices);

}  // namespace headroom::probe

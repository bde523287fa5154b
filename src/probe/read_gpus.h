// SPDX-License-Identifier: Apache-2.0
// Reads the graphics devices of a machine: on PCI, in DRM, and in KFD's topology.
#pragma once

#include <vector>

#include "facts/facts.h"
#include "machine/files.h"

namespace headroom::probe {

struct Devices {
  std::vector<facts::PciGpu> gpus;  // GPUs of every vendor, each once.
  facts::Fact<bool> looked;  // Missing unless PCI or DRM could be listed and read completely.
};
Devices read_devices(const machine::Files& files);

struct Topology {
  std::vector<facts::KfdNode> nodes;  // In the order of their numbers.
  facts::Fact<bool> present;          // Whether /sys/class/kfd/kfd exists.
  facts::NoNode no_node;              // Why a GPU may lack its node.
  int withheld = 0;                   // Nodes whose properties this process may not read.
  int unread = 0;  // Nodes that may be GPUs but could not be read for another reason.
};
Topology read_topology(const machine::Files& files);

std::vector<facts::OtherGpu> read_other_gpus(const machine::Files& files,
                                             const std::vector<facts::PciGpu>& devices);

}  // namespace headroom::probe

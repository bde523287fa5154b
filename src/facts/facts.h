// SPDX-License-Identifier: Apache-2.0
// Facts: everything that is known of one machine, each with its source or why it is missing.
// Probing fills it, findings reason about it, reports print it.
#pragma once

#include <string>
#include <vector>

#include "facts/environment.h"
#include "facts/gpu.h"
#include "facts/links.h"
#include "facts/machine_facts.h"
#include "facts/python_stack.h"
#include "facts/visible_devices.h"
#include "facts/wsl.h"

namespace headroom::facts {

// A GPU of another vendor: said, so that "no AMD GPU" is not read as "no GPU".
struct OtherGpu {
  std::string pci;
  Fact<std::uint64_t> vendor, device;
  std::string name;  // "NVIDIA GeForce RTX 3090", or the vendor and id.
  Text driver;
};

struct Facts {
  MachineFacts machine;
  Wsl wsl;                // Of Windows's subsystem for Linux; elsewhere its kind is none.
  std::vector<Gpu> gpus;  // AMD's, by PCI address.
  std::vector<OtherGpu> other_gpus;
  Interconnect interconnect;
  std::vector<Mask> masks;                // That hide GPUs from what starts here.
  std::vector<RejectedWord> mask_errors;  // Words of them that ended a list.
  PythonStack python;
  Fact<bool> looked;  // The PCI or DRM folders could be listed; missing: "no GPU" would be a guess.
  Fact<bool> kfd_present;         // /sys/class/kfd exists: the kernel has the compute driver.
  int kfd_nodes_withheld = 0;     // Nodes that are listed and whose properties may not be read.
  int kfd_nodes_unread = 0;       // Nodes that may be GPUs and could not be read otherwise.
  bool holders_complete = false;  // Every process could be looked into, and none is out of sight.
  std::vector<KfdProcess> kfd_processes;
  Environment environment;  // Settings of data/knobs.toml, wherever this machine has them.
};

// Completes joined GPUs: integrated, ladder, holders, what no holder accounts for.
void complete_gpus(Facts& facts, const Processes& processes, const knowledge::GpuTables& tables);

}  // namespace headroom::facts

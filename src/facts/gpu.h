// SPDX-License-Identifier: Apache-2.0
// One AMD GPU as this machine shows it: its PCI device, its DRM card and its KFD node joined, or as
// much of these as there is. A partition of an MI300 is a GPU of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/driver_answers.h"
#include "facts/firmware.h"
#include "facts/holder.h"
#include "facts/kfd.h"
#include "facts/ladder.h"
#include "facts/links.h"
#include "facts/text_facts.h"
#include "knowledge/gpu_tables.h"

namespace headroom::facts {

constexpr std::uint64_t amd_vendor = 0x1002;

// A display or accelerator device on PCI, as /sys/bus/pci/devices or /sys/class/drm shows it.
struct PciGpu {
  std::string pci;     // "0000:03:00.0".
  std::string folder;  // Where its files are.
  Fact<std::uint64_t> vendor, device, revision;
  Text driver;          // "amdgpu"; not_present if no driver has it.
  Text product_name;    // May be an empty line.
  Text runtime_status;  // "active", "suspended"; read before anything that could wake the GPU.
  Text power_state;     // "D0", "D3cold".
  Text board_info;      // Only discrete cards have it (6.10 and later).
  Text vram_vendor;     // Only real VRAM has one.
  Fact<Bytes> vram_total, vram_used, gtt_total, gtt_used;
  Firmware firmware;
  Fact<std::uint64_t> render_minor;  // N of /dev/dri/renderDN.
  Fact<bool> render_node;            // That device node exists here.
  Fact<bool> render_usable;          // This user may open it; only known live.
  Ownership render_owner;
  DriverAnswers answers;  // By ioctl; not asked of a GPU that sleeps or may not be opened.

  bool asleep() const {
    return (runtime_status && *runtime_status == "suspended") ||
           (power_state && *power_state == "D3cold");
  }
};

struct Gpu : PciGpu {
  std::string name;
  Fact<std::string> gfx;
  Fact<bool> integrated;
  Fact<knowledge::Support> support;
  Fact<std::uint64_t>
      kfd_id;  // gpu_id: names this GPU under KFD's processes. Not stable over boots.
  Fact<std::uint64_t> unique_id;  // KFD's, from which ROCr makes "GPU-…"; 0: it has none.
  Fact<std::uint64_t> kfd_node;   // Its number there: the order in which ROCr counts GPUs.
  Fact<Bytes> pool;               // What ROCm offers to hipMalloc: the KFD memory bank.
  Fact<Bytes> kfd_free;           // What KFD calls free now: its own count, blind to graphics.
  // Several KFD nodes share its PCI device, whose counters are the whole card's.
  bool partition = false;
  Ladder ladder;
  std::vector<Holder> holders;
  Accounting accounting;
  Connection connection;
};

// Joins AMD's PCI devices with KFD's nodes: by render node, else by PCI address, else (partitions
// of MI300) by the address of function 0. A KFD GPU without a PCI device, and a device without a
// node, are GPUs too. `no_node` is why a device may lack its node. Sorted by PCI address; ladders
// and holders are not filled in yet.
std::vector<Gpu> join_gpus(const std::vector<PciGpu>& devices, const std::vector<KfdNode>& nodes,
                           const NoNode& no_node, const knowledge::GpuTables& tables);

// MI300A and MI300X share a target; what their memory is follows rules of its own.
bool is_mi300(const Gpu& gpu);

// In the order of trust: the driver's own FUSION flag, targets that are only ever one, PCI ids,
// board_info (the driver writes it for discrete boards only), the VRAM's maker, and from Linux 6.10
// on the absence of both.
Fact<bool> infer_integrated(const Gpu& gpu, const Text& kernel, const knowledge::GpuTables& tables);

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
// How GPUs are connected: to the CPU (PCIe links up to the root port, IOMMU, ACS, NUMA), and to
// each other (KFD's io_links and p2p_links). With it what many GPUs need of the system around them:
// shared memory and locked memory. Parsers are text → value and pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// One PCIe device on the way from a GPU to the CPU (Documentation/ABI/testing/sysfs-bus-pci).
struct PcieDevice {
  std::string pci;
  std::string folder;
  Fact<double> speed, max_speed;         // Giga-transfers per second and lane.
  Fact<std::uint64_t> width, max_width;  // Lanes.
};

// "16.0 GT/s PCIe", "8 GT/s"; "Unknown" is not understood.
Fact<double> parse_link_speed(const Text& text);
// "16"; 0 and what no link can have is not understood.
Fact<std::uint64_t> parse_link_width(const Text& text);
// numa_node: -1 where the machine has no such nodes.
Fact<std::uint64_t> parse_numa_node(const Text& text);

// One link: what it runs at, and what its two ends could.
struct PcieHop {
  std::string lower, upper;  // PCI addresses; `upper` is empty where only one end is known.
  Fact<double> speed, possible_speed;
  Fact<std::uint64_t> width, possible_width;
};
// The links between neighbours of `path`, which leads from a GPU to its root port. A device alone
// stands for its link.
std::vector<PcieHop> make_hops(const std::vector<PcieDevice>& path);
// The link with the least to give, of those whose speed and width are known; nullptr without one.
const PcieHop* weakest(const std::vector<PcieHop>& hops);

// A PCI device's `config`: whether its ACS capability sends requests between the devices below it
// up to the CPU (PCIe 6.0 §7.7.11; the bits that drivers/pci/p2pdma.c asks for). Users see only the
// first 64 bytes: missing, no permission.
Fact<bool> parse_acs_redirect(const Text& config);

enum class IommuMode { off, passthrough, translated };
std::string_view to_string(IommuMode mode);
// /sys/kernel/iommu_groups/N/type: "identity", "DMA", "DMA-FQ".
Fact<IommuMode> parse_iommu_group(const Text& text);
// iommu=pt, amd_iommu=off and their kin on the kernel command line.
Fact<IommuMode> parse_iommu_options(const Text& cmdline);

// What is known of one GPU's connection.
struct Connection {
  std::vector<PcieDevice> path;  // From the GPU up to its root port.
  std::vector<PcieHop> hops;
  Missing no_hops;  // Why there are none.
  Fact<std::uint64_t> numa_node;
  Fact<IommuMode> iommu;
  Fact<std::uint64_t> rocr_index, hip_index;  // Under the masks; see visible_devices.h.
};

// nodes/N/{io_links,p2p_links}/M/properties (amdkfd/kfd_crat.h, CRAT_IOLINK_TYPE_*).
struct KfdLink {
  Fact<std::uint64_t> type, to, weight;
  Fact<std::uint64_t> min_bandwidth, max_bandwidth;  // MB/s; 0 on old kernels, which is missing.
};
KfdLink parse_kfd_link(const Text& properties);

enum class PeerKind { xgmi, pcie };
std::string_view to_string(PeerKind kind);

// The link between two GPUs. A kind that is not_present says that the compute driver records none:
// what they exchange goes through RAM.
struct PeerLink {
  std::string from, to;  // PCI addresses.
  Fact<PeerKind> kind;
  Fact<std::uint64_t> weight, min_bandwidth, max_bandwidth;
};

// A downstream port below a switch that two GPUs share.
struct PortBetween {
  std::string pci;
  Fact<bool> redirects;
};

struct Interconnect {
  std::vector<PeerLink> peers;  // Each pair of GPUs once.
  Missing no_peers;             // Why there are none, with more than one GPU.
  std::vector<PortBetween> ports;
  Fact<Bytes> shm;        // The size of /dev/shm.
  Fact<Bytes> memlock;    // What one process may lock; not_limited for unlimited.
  Fact<bool> infiniband;  // Network cards that need locked memory.
};

// /proc/mounts: the size of /dev/shm; half the RAM where the mount does not say (tmpfs.rst).
Fact<Bytes> parse_shm_size(const Text& mounts, const Fact<Bytes>& ram);
// /proc/PID/limits: "Max locked memory", the soft limit.
Fact<Bytes> parse_memlock(const Text& limits);

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
// The compute driver's view: topology nodes and processes under /sys/class/kfd/kfd
// (amdkfd/kfd_topology.c, kfd_process.c). Parsed by name, never by line: the key set grew from 4.18
// to today, and old kernels lack even gfx_target_version.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/links.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct KfdNode {
  int index = 0;  // nodes/N; sorted as numbers.
  Fact<std::uint64_t> gpu_id;
  Fact<std::uint64_t> simd_count;
  Fact<std::uint64_t> gfx_target_version;
  Fact<std::uint64_t> device_id;
  Fact<std::uint64_t> location_id;  // bus << 8 | device << 3 | function, without the domain.
  Fact<std::uint64_t> domain;
  Fact<std::uint64_t> render_minor;
  Fact<std::uint64_t> unique_id;  // 0 on many consumer cards.
  Fact<std::uint64_t> hive_id;    // The same on all GPUs that XGMI joins; else 0.
  std::vector<KfdLink> links;     // To other nodes; fewer than there are if some were not read.
  Missing no_links;               // Why links may lack.
  Fact<std::uint64_t> io_links_count, p2p_links_count;
  Fact<std::uint64_t> mec_firmware, sdma_firmware;  // fw_version, sdma_fw_version.
  Fact<Bytes> bank;       // The heap of a GPU: what ROCm offers to hipMalloc.
  Fact<Bytes> bank_used;  // AMD's DKMS driver only.

  // A GPU, or CPU and GPU in one node as old kernels built for APUs. Unknown nodes are neither.
  bool is_gpu() const { return simd_count && *simd_count > 0; }
  bool is_readable() const { return simd_count.known(); }
  // By a container's device rules, which ROCr passes over as if it were not there.
  bool is_withheld() const { return !simd_count && simd_count.missing().why == Why::no_permission; }
  // Neither read nor withheld: what ROCr sees there is not known, but for a CPU's, whose id is 0.
  bool is_unread() const { return !simd_count && !is_withheld() && (!gpu_id || *gpu_id != 0); }
  // What `links` does not hold, the driver does not record. Old kernels count no p2p_links.
  bool has_all_links() const {
    const std::uint64_t peers = p2p_links_count ? *p2p_links_count : 0;
    return io_links_count && !links.empty() && links.size() >= *io_links_count + peers;
  }
};

// Why a device may lack its node, and where that shows.
struct NoNode {
  Missing why;
  Source source;
};

// One memory bank: mem_banks/M/properties and, where it exists, mem_banks/M/used_memory.
struct KfdBankText {
  Text properties;
  Text used;
};

// `properties` is nodes/N/properties; of `banks`, in order, the first GPU heap (heap_type 1 or 2)
// counts.
KfdNode parse_kfd_node(int index, const Text& gpu_id, const Text& properties,
                       const std::vector<KfdBankText>& banks);

// "0000:03:00.0" of a node; old kernels print no domain, which then is 0.
Fact<std::string> pci_address(const KfdNode& node);

// proc/PID: which memory a process has in the compute driver. The directory is named by the host's
// PID, also inside a container.
struct KfdProcess {
  std::uint64_t pid = 0;
  Fact<std::uint64_t> pasid;
  std::map<std::uint64_t, Fact<Bytes>> vram;  // By gpu_id. On an APU this includes memory in GTT.
};

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
#include "facts/kfd.h"

#include <fmt/format.h>

namespace headroom::facts {
namespace {

void read_gpu_bank(const std::vector<KfdBankText>& banks, KfdNode& node) {
  node.bank = {Missing{Why::not_present, "no memory bank"}, Source{}};
  for (const KfdBankText& bank : banks) {
    const auto heap = find_number(bank.properties, "heap_type");
    const auto size = find_number(bank.properties, "size_in_bytes");
    if (!heap || !size) {
      node.bank = (heap ? size : heap).absent<Bytes>();
      continue;
    }
    const bool frame_buffer = *heap == 1 || *heap == 2;  // CPU-visible, or behind a small BAR.
    if (!frame_buffer) continue;
    node.bank = {Bytes{*size}, size.source()};
    node.bank_used = parse_byte_count(bank.used);
    return;
  }
}

}  // namespace

KfdNode parse_kfd_node(int index, const Text& gpu_id, const Text& properties,
                       const std::vector<KfdBankText>& banks) {
  KfdNode node;
  node.index = index;
  node.gpu_id = parse_number(gpu_id);
  node.simd_count = find_number(properties, "simd_count");
  node.gfx_target_version = find_number(properties, "gfx_target_version");
  node.device_id = find_number(properties, "device_id");
  node.location_id = find_number(properties, "location_id");
  node.domain = find_number(properties, "domain");
  node.render_minor = find_number(properties, "drm_render_minor");
  node.unique_id = find_number(properties, "unique_id");
  node.hive_id = find_number(properties, "hive_id");
  node.io_links_count = find_number(properties, "io_links_count");
  node.p2p_links_count = find_number(properties, "p2p_links_count");
  node.mec_firmware = find_number(properties, "fw_version");
  node.sdma_firmware = find_number(properties, "sdma_fw_version");
  read_gpu_bank(banks, node);
  return node;
}

Fact<std::string> pci_address(const KfdNode& node) {
  if (!node.location_id) return node.location_id.absent<std::string>();
  const std::uint64_t location = *node.location_id;
  const std::uint64_t domain = node.domain ? *node.domain : 0;
  return {fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, location >> 8U & 0xffU,
                      location >> 3U & 0x1fU, location & 7U),
          node.location_id.source()};
}

}  // namespace headroom::facts

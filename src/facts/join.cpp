// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/gpu.h"

namespace headroom::facts {
namespace {

bool same_render_node(const PciGpu& device, const KfdNode& node) {
  return device.render_minor && node.render_minor && *node.render_minor != 0 &&
         *device.render_minor == *node.render_minor;
}

const PciGpu* find_device(const std::vector<PciGpu>& devices, const KfdNode& node) {
  for (const PciGpu& device : devices) {
    if (same_render_node(device, node)) return &device;
  }
  const auto address = pci_address(node);
  if (!address) return nullptr;
  for (const PciGpu& device : devices) {
    if (device.pci == *address) return &device;
  }
  // Partitions count up the function, of which only 0 is a PCI device.
  const std::string parent = address->substr(0, address->size() - 1) + "0";
  for (const PciGpu& device : devices) {
    if (device.pci == parent) return &device;
  }
  return nullptr;
}

Fact<std::string> find_gfx(const Gpu& gpu, const KfdNode* node,
                           const knowledge::GpuTables& tables) {
  if (node != nullptr && node->gfx_target_version) {
    const auto& version = node->gfx_target_version;
    if (const auto name = knowledge::gfx_name(*version)) return {*name, version.source()};
    if (*version != 0) {
      return {Missing{Why::not_understood, version.source().text}, version.source()};
    }
  }
  if (!gpu.device) return gpu.device.absent<std::string>();
  const auto* known = tables.device(static_cast<std::uint32_t>(*gpu.device));
  if (known != nullptr) return {known->gfx, gpu.device.source()};
  return {Missing{Why::not_present,
                  fmt::format("no KFD node says it, and PCI id 1002:{:04x} is not in the table",
                              *gpu.device)},
          gpu.device.source()};
}

std::string find_name(const Gpu& gpu, const knowledge::GpuTables& tables) {
  if (gpu.product_name && !trim(*gpu.product_name).empty()) {
    return std::string(trim(*gpu.product_name));
  }
  const auto* device =
      gpu.device ? tables.device(static_cast<std::uint32_t>(*gpu.device)) : nullptr;
  if (device != nullptr) {
    const auto revision = gpu.revision
                              ? device->revisions.find(static_cast<std::uint32_t>(*gpu.revision))
                              : device->revisions.end();
    return "AMD " + (revision == device->revisions.end() ? device->name : revision->second);
  }
  const auto* target = gpu.gfx ? tables.target(*gpu.gfx) : nullptr;
  if (target != nullptr) return "AMD GPU (" + target->cards + ")";
  return gpu.device ? fmt::format("AMD GPU 1002:{:04x}", *gpu.device) : "AMD GPU";
}

Fact<knowledge::Support> find_support(const Gpu& gpu, const knowledge::GpuTables& tables) {
  if (gpu.gfx) {
    const auto* target = tables.target(*gpu.gfx);
    if (target != nullptr) return {knowledge::support_of(*target), gpu.gfx.source()};
    return {Missing{Why::not_present, *gpu.gfx + " is not in the table of targets"},
            gpu.gfx.source()};
  }
  // The radeon driver runs only chips from before GCN 1.2, none of which ROCm ever ran on.
  if (gpu.driver && *gpu.driver == "radeon") {
    return {knowledge::Support::unsupported, gpu.driver.source()};
  }
  return gpu.gfx.absent<knowledge::Support>();
}

// `node` is the GPU's own, or null with `no_node` as the reason.
Gpu make_gpu(const PciGpu& device, const KfdNode* node, const NoNode& no_node,
             const knowledge::GpuTables& tables) {
  Gpu gpu;
  static_cast<PciGpu&>(gpu) = device;
  if (node != nullptr) {
    gpu.kfd_id = node->gpu_id;
    gpu.unique_id = node->unique_id;
    gpu.kfd_node = {static_cast<std::uint64_t>(node->index), node->simd_count.source()};
    gpu.pool = node->bank;
    if (!gpu.device) gpu.device = node->device_id;
    if (!gpu.render_minor) gpu.render_minor = node->render_minor;
    if (node->mec_firmware) gpu.firmware.versions.try_emplace("mec", node->mec_firmware);
    if (node->sdma_firmware) gpu.firmware.versions.try_emplace("sdma", node->sdma_firmware);
    const auto address = pci_address(*node);
    if (address) gpu.pci = *address;
  } else {
    gpu.kfd_id = {no_node.why, no_node.source};
    gpu.unique_id = gpu.kfd_node = gpu.kfd_id;
    gpu.pool = gpu.kfd_id.absent<Bytes>();
  }
  gpu.gfx = find_gfx(gpu, node, tables);
  gpu.name = find_name(gpu, tables);
  gpu.support = find_support(gpu, tables);
  return gpu;
}

// The card's counters say nothing of one partition; AMD's DKMS driver counts per memory bank.
void mark_partition(Gpu& gpu, const KfdNode& node) {
  gpu.partition = true;
  const Missing whole{Why::not_applicable, "sysfs counts the whole card, not the partition"};
  gpu.vram_used = node.bank_used ? node.bank_used : Fact<Bytes>(whole, gpu.vram_used.source());
}

// KFD shows the GPU, PCI and DRM do not: a capture without them.
PciGpu make_unseen(const KfdNode& node) {
  const Text nothing{Missing{Why::not_present, "KFD shows this GPU, PCI and DRM do not"},
                     Source{"/sys/bus/pci/devices", 0, ""}};
  PciGpu gpu;
  gpu.vendor = {amd_vendor, node.device_id.source()};
  gpu.device = gpu.revision = gpu.render_minor = nothing.absent<std::uint64_t>();
  gpu.driver = gpu.product_name = gpu.runtime_status = gpu.power_state = nothing;
  gpu.board_info = gpu.vram_vendor = gpu.firmware.vbios = nothing;
  gpu.vram_total = gpu.vram_used = gpu.gtt_total = gpu.gtt_used = nothing.absent<Bytes>();
  gpu.render_node = gpu.render_usable = nothing.absent<bool>();
  gpu.render_owner = parse_ownership(nothing);
  gpu.answers = parse_driver_answers(nothing);
  return gpu;
}

std::vector<const PciGpu*> find_devices(const std::vector<PciGpu>& devices,
                                        const std::vector<KfdNode>& nodes) {
  std::vector<const PciGpu*> found;
  for (const KfdNode& node : nodes) {
    found.push_back(node.is_gpu() ? find_device(devices, node) : nullptr);
  }
  return found;
}

}  // namespace

std::vector<Gpu> join_gpus(const std::vector<PciGpu>& devices, const std::vector<KfdNode>& nodes,
                           const NoNode& no_node, const knowledge::GpuTables& tables) {
  std::vector<Gpu> gpus;
  const auto joined = find_devices(devices, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_gpu()) continue;
    const PciGpu& device = joined[i] != nullptr ? *joined[i] : make_unseen(nodes[i]);
    gpus.push_back(make_gpu(device, &nodes[i], no_node, tables));
    const bool shared =
        joined[i] != nullptr && std::count(joined.begin(), joined.end(), joined[i]) > 1;
    if (shared) mark_partition(gpus.back(), nodes[i]);
  }
  for (const PciGpu& device : devices) {
    const bool amd = device.vendor && *device.vendor == amd_vendor;
    const bool has_node = std::find(joined.begin(), joined.end(), &device) != joined.end();
    if (amd && !has_node) gpus.push_back(make_gpu(device, nullptr, no_node, tables));
  }
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const Gpu& a, const Gpu& b) { return a.pci < b.pci; });
  return gpus;
}

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
#include "facts/gpu.h"
#include "facts/kernel_text.h"

namespace headroom::facts {
namespace {

// board_info appeared in 6.10; an older kernel writes it for no device.
constexpr KernelVersion board_info_since{6, 10, 0};

}  // namespace

bool is_mi300(const Gpu& gpu) {
  return gpu.gfx && *gpu.gfx == "gfx942";
}

Fact<bool> infer_integrated(const Gpu& gpu, const Text& kernel,
                            const knowledge::GpuTables& tables) {
  if (gpu.answers.fusion) return gpu.answers.fusion;
  const auto* target = gpu.gfx ? tables.target(*gpu.gfx) : nullptr;
  if (target != nullptr && target->kind != knowledge::Kind::both) {
    const bool integrated = target->kind == knowledge::Kind::integrated;
    return {integrated, gpu.gfx.source()};
  }
  const auto* device =
      gpu.device ? tables.device(static_cast<std::uint32_t>(*gpu.device)) : nullptr;
  if (device != nullptr && device->integrated) return {*device->integrated, gpu.device.source()};
  if (gpu.board_info) return {false, gpu.board_info.source()};
  if (gpu.vram_vendor) return {false, gpu.vram_vendor.source()};
  const auto version = kernel ? parse_kernel_version(*kernel) : std::nullopt;
  const bool absent = gpu.board_info.missing().why == Why::not_present &&
                      gpu.vram_vendor.missing().why == Why::not_present && gpu.vram_total.known();
  if (absent && version && *version >= board_info_since) return {true, gpu.board_info.source()};
  return {Missing{Why::not_present, "neither the target, the PCI id nor sysfs tells"},
          gpu.device.source()};
}

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
// What the hardware counts of its own errors: RAS of each block of a GPU, advanced error reporting
// (AER) of its PCIe device, and resets that lost its memory. All of them only grow, so that two
// readings tell what came between. Parsers are text → value and pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/text_facts.h"

namespace headroom::facts {

// ras/BLOCK_err_count (drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c).
struct RasCount {
  std::string block;  // "umc", the memory controller.
  Fact<std::uint64_t> uncorrectable, correctable;
};

struct GpuErrors {
  std::vector<RasCount> ras;  // By name of their block.
  Missing no_ras;             // Why there are none.
  // aer_dev_correctable, _nonfatal, _fatal (the kernel's
  // Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
  Fact<std::uint64_t> link_corrected, link_nonfatal, link_fatal;
  Fact<std::uint64_t> resets;  // DriverAnswers::vram_lost.
};

// "ue: 0\nce: 1\n"; while the driver resets the GPU a sentence stands there instead, which is
// unreadable and not 0.
RasCount parse_ras_count(std::string block, const Text& text);

// The line "TOTAL_ERR_COR 3" of a list of errors by kind. `total` is that first word.
Fact<std::uint64_t> parse_aer_total(const Text& text, std::string_view total);

}  // namespace headroom::facts

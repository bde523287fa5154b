// SPDX-License-Identifier: Apache-2.0
#include "findings/rules.h"

#include <array>

namespace headroom::findings {
namespace {

constexpr std::array table = {
    Rule{"gpu-unsupported", find_gpu_unsupported},
    Rule{"driver-not-loaded", find_driver_not_loaded},
    Rule{"kfd-not-passed", find_kfd_not_passed},
    Rule{"device-permission", find_device_permission},
    Rule{"no-kfd-node", find_no_kfd_node},
    Rule{"gfx-override-wrong", find_gfx_override},
    Rule{"vram-orphaned", find_vram_orphaned},
    Rule{"vram-held-by-other", find_vram_held},
    Rule{"gfx-target-dropped", find_gfx_target_dropped},
    Rule{"kernel-too-old", find_carve_out_ignored},
    Rule{"gttsize-cap", find_gttsize_cap},
    Rule{"ttm-cap", find_ttm_cap},
    Rule{"uma-carveout-small", find_uma_carveout_small},
    Rule{"limit-above-ram", find_limit_above_ram},
    Rule{"unused-option", find_unused_option},
    Rule{"community-target", find_community_target},
    Rule{"igpu-beside-discrete", find_igpu_beside_discrete},
    Rule{"memory-unknown", find_memory_unknown},
};

}  // namespace

std::span<const Rule> rules() {
  return table;
}

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
#include "findings/rules.h"

#include <array>

namespace headroom::findings {
namespace {

// clang-format off: a line each.
constexpr std::array table = {
    &gpu_unsupported_rule,
    &wsl_rule,
    &driver_not_loaded_rule,
    &kfd_not_passed_rule,
    &device_permission_rule,
    &no_kfd_node_rule,
    &render_node_missing_rule,
    &gfx_override_rule,
    &known_bad_firmware_rule,
    &known_bad_kernel_rule,
    &vram_orphaned_rule,
    &vram_held_rule,
    &wrong_wheel_rule,
    &gfx_target_missing_rule,
    &gfx_target_dropped_rule,
    &carve_out_ignored_rule,
    &share_of_free_ram_rule,
    &gttsize_cap_rule,
    &ttm_cap_rule,
    &uma_carveout_small_rule,
    &limit_above_ram_rule,
    &limit_not_in_force_rule,
    &gtt_pool_mismatch_rule,
    &unused_option_rule,
    &option_overridden_rule,
    &option_not_in_force_rule,
    &cgroup_memory_limit_rule,
    &uncharged_memory_rule,
    &ttm_pool_rule,
    &vram_lost_rule,
    &community_target_rule,
    &igpu_beside_discrete_rule,
    &memory_unknown_rule,
    &rocm_version_mismatch_rule,
    &python_too_new_rule,
    &iommu_translates_rule,
    &acs_blocks_peers_rule,
    &pcie_link_degraded_rule,
    &shm_too_small_rule,
    &memlock_too_low_rule,
    &mask_hides_gpu_rule,
    &mask_names_missing_rule,
    &mixed_targets_rule,
    &knob_dangerous_rule,
    &knob_wrong_unit_rule,
    &knob_unknown_rule,
    &knob_contradictory_rule,
    &knob_debugging_aid_rule,
    &knob_deprecated_rule,
    &knob_no_effect_rule,
};
// clang-format on

}  // namespace

std::span<const Rule* const> rules() {
  return table;
}

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/causes.h"

#include <array>

namespace headroom::findings {
namespace {

// clang-format off
constexpr std::array table = {
  &app_bug_cause,
  &backend_unavailable_cause,
  &bar_too_small_cause,
  &bitsandbytes_no_rocm_cause,
  &cgroup_memory_limit_cause,
  &collective_hang_cause,
  &cpu_lacks_avx_cause,
  &crash_loop_cause,
  &device_index_cause,
  &device_permission_cause,
  &disk_full_cause,
  &driver_not_loaded_cause,
  &firmware_bad_cause,
  &fragmentation_cause,
  &framework_bug_cause,
  &free_memory_misreported_cause,
  &gfx_override_wrong_cause,
  &gfx_target_dropped_cause,
  &gfx_target_missing_cause,
  &gpu_hang_cause,
  &gpu_not_used_cause,
  &gpu_unsupported_cause,
  &gttsize_cap_cause,
  &hipblas_workspace_cause,
  &host_without_kfd_cause,
  &hw_error_cause,
  &igpu_selected_cause,
  &job_too_big_cause,
  &kernel_too_old_cause,
  &kfd_not_passed_cause,
  &managed_memory_cause,
  &memory_fraction_cap_cause,
  &miopen_db_cause,
  &missing_library_cause,
  &pcie_atomics_cause,
  &python_version_unsupported_cause,
  &rccl_p2p_cause,
  &rocm_regression_cause,
  &rocm_version_mismatch_cause,
  &torchao_incompatible_cause,
  &ttm_cap_cause,
  &uma_carveout_small_cause,
  &unsupported_option_cause,
  &vram_guard_cause,
  &vram_held_by_other_cause,
  &vram_orphaned_cause,
  &wrong_wheel_cause,
};
// clang-format on

}  // namespace

std::span<const CauseRule* const> cause_rules() {
  return table;
}

}  // namespace headroom::findings

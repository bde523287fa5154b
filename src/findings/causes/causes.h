// SPDX-License-Identifier: Apache-2.0
// Every cause rule, in one table.
#pragma once

#include <span>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// clang-format off
extern const CauseRule app_bug_cause;
extern const CauseRule backend_unavailable_cause;
extern const CauseRule bar_too_small_cause;
extern const CauseRule bitsandbytes_no_rocm_cause;
extern const CauseRule cgroup_memory_limit_cause;
extern const CauseRule collective_hang_cause;
extern const CauseRule cpu_lacks_avx_cause;
extern const CauseRule crash_loop_cause;
extern const CauseRule device_index_cause;
extern const CauseRule device_permission_cause;
extern const CauseRule disk_full_cause;
extern const CauseRule driver_not_loaded_cause;
extern const CauseRule firmware_bad_cause;
extern const CauseRule fragmentation_cause;
extern const CauseRule framework_bug_cause;
extern const CauseRule free_memory_misreported_cause;
extern const CauseRule gfx_override_wrong_cause;
extern const CauseRule gfx_target_dropped_cause;
extern const CauseRule gfx_target_missing_cause;
extern const CauseRule gpu_hang_cause;
extern const CauseRule gpu_not_used_cause;
extern const CauseRule gpu_unsupported_cause;
extern const CauseRule gttsize_cap_cause;
extern const CauseRule hipblas_workspace_cause;
extern const CauseRule host_without_kfd_cause;
extern const CauseRule hw_error_cause;
extern const CauseRule igpu_selected_cause;
extern const CauseRule job_too_big_cause;
extern const CauseRule kernel_too_old_cause;
extern const CauseRule kfd_not_passed_cause;
extern const CauseRule managed_memory_cause;
extern const CauseRule memory_fraction_cap_cause;
extern const CauseRule miopen_db_cause;
extern const CauseRule missing_library_cause;
extern const CauseRule pcie_atomics_cause;
extern const CauseRule python_version_unsupported_cause;
extern const CauseRule rccl_p2p_cause;
extern const CauseRule rocm_regression_cause;
extern const CauseRule rocm_version_mismatch_cause;
extern const CauseRule torchao_incompatible_cause;
extern const CauseRule ttm_cap_cause;
extern const CauseRule uma_carveout_small_cause;
extern const CauseRule unsupported_option_cause;
extern const CauseRule vram_guard_cause;
extern const CauseRule vram_held_by_other_cause;
extern const CauseRule vram_orphaned_cause;
extern const CauseRule wrong_wheel_cause;
// clang-format on

// The order is that of docs/causes.md. It decides between causes that are equally sure and show at
// the same line.
std::span<const CauseRule* const> cause_rules();

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// Every fix by name, for the table in plan/fixes.cpp: one line here and one there.
#pragma once

#include "plan/fix.h"

namespace headroom::plan {

// Memory limits of APUs.
extern const Fix ttm_cap_fix;
extern const Fix gttsize_cap_fix;
extern const Fix gtt_pool_mismatch_fix;
extern const Fix limit_above_ram_fix;
extern const Fix limit_not_in_force_fix;
extern const Fix option_not_in_force_fix;
extern const Fix option_overridden_fix;

extern const Fix gfx_override_wrong_fix;
extern const Fix knob_dangerous_fix;
extern const Fix knob_deprecated_fix;
extern const Fix igpu_selected_fix;
extern const Fix igpu_beside_discrete_fix;
extern const Fix stack_fix;
extern const Fix device_permission_fix;
extern const Fix missing_library_fix;
extern const Fix memlock_too_low_fix;
extern const Fix shm_too_small_fix;
extern const Fix cgroup_memory_limit_fix;
extern const Fix iommu_not_passthrough_fix;

}  // namespace headroom::plan

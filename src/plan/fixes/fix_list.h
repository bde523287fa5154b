// SPDX-License-Identifier: Apache-2.0
// The fixes of this folder by name, for the table in plan/fixes.cpp: what takes settings out, and
// what a user, a service or a container is missing.
#pragma once

#include "plan/fix.h"

namespace headroom::plan {

extern const Fix gfx_override_wrong_fix;
extern const Fix knob_dangerous_fix;
extern const Fix knob_deprecated_fix;
extern const Fix device_permission_fix;
extern const Fix missing_library_fix;
extern const Fix stack_fix;
extern const Fix igpu_selected_fix;
extern const Fix memlock_too_low_fix;
extern const Fix shm_too_small_fix;
extern const Fix cgroup_memory_limit_fix;
extern const Fix iommu_not_passthrough_fix;

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// Every fix by name, for the table in plan/fixes.cpp: one line here and one there.
#pragma once

#include "plan/fix.h"

namespace headroom::plan {

extern const Fix ttm_cap_fix;
extern const Fix gttsize_cap_fix;
extern const Fix gtt_pool_mismatch_fix;
extern const Fix limit_above_ram_fix;
extern const Fix limit_not_in_force_fix;
extern const Fix option_not_in_force_fix;
extern const Fix option_overridden_fix;

}  // namespace headroom::plan

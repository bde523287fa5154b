// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

// In the order in which `headroom fix` lists them.
constexpr std::array table = {
    // Memory limits.
    &ttm_cap_fix,
    &gttsize_cap_fix,
    &limit_above_ram_fix,
    &limit_not_in_force_fix,
    &gtt_pool_mismatch_fix,
    &option_not_in_force_fix,
    &option_overridden_fix,
    // Settings and software.
    &gfx_override_wrong_fix,
    &knob_dangerous_fix,
    &knob_deprecated_fix,
    &igpu_selected_fix,
    &igpu_beside_discrete_fix,
    &stack_fix,
    // What a user, a service or a container is missing.
    &device_permission_fix,
    &missing_library_fix,
    &memlock_too_low_fix,
    &shm_too_small_fix,
    &cgroup_memory_limit_fix,
    &iommu_not_passthrough_fix,
};

}  // namespace

std::span<const Fix* const> fixes() {
  return table;
}

Outlook outlook_of(const Fix& fix, const FixSubject& subject) {
  const bool found = is_diagnosed(subject.diagnosis, fix.id);
  const auto change = fix.plan(subject);
  if (!change) {
    return {found ? Standing::not_possible : Standing::not_needed, found, change.error()};
  }
  if (fix.applies(subject)) return {Standing::needed, found, std::nullopt};
  return {acts(change) ? Standing::possible : Standing::by_hand, found, std::nullopt};
}

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::needed:
      return "needed";
    case Standing::possible:
      return "possible";
    case Standing::by_hand:
      return "by-hand";
    case Standing::not_possible:
      return "not-possible";
    case Standing::not_needed:
      break;
  }
  return "not-needed";
}

const Fix* find_fix(std::string_view id) {
  const auto found =
      std::find_if(table.begin(), table.end(), [id](const Fix* fix) { return fix->id == id; });
  return found == table.end() ? nullptr : *found;
}

}  // namespace headroom::plan

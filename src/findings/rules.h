// SPDX-License-Identifier: Apache-2.0
// Every rule, in one table. A rule looks at the facts and returns what it finds; it knows nothing
// of the other rules. One file per rule, named after it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "findings/finding.h"
#include "knowledge/gpu_tables.h"

namespace headroom::findings {

struct Subject {
  const facts::Facts& facts;
  const knowledge::GpuTables& tables;
};

// The rule's page under docs/rules/ is generated from these texts: what is the case, why it
// matters, and what to do in general (a finding says it for this machine).
struct Rule {
  std::string_view id;  // The id of its findings, or of the commonest kind.
  std::string_view meaning;
  std::string_view why;
  std::string_view fix;
  std::vector<Finding> (*find)(const Subject&) = nullptr;
};

extern const Rule gpu_unsupported_rule;
extern const Rule driver_not_loaded_rule;
extern const Rule kfd_not_passed_rule;
extern const Rule device_permission_rule;
extern const Rule no_kfd_node_rule;
extern const Rule gfx_override_rule;
extern const Rule known_bad_firmware_rule;
extern const Rule known_bad_kernel_rule;
extern const Rule vram_orphaned_rule;
extern const Rule vram_held_rule;
extern const Rule gfx_target_dropped_rule;
extern const Rule carve_out_ignored_rule;
extern const Rule share_of_free_ram_rule;
extern const Rule gttsize_cap_rule;
extern const Rule ttm_cap_rule;
extern const Rule uma_carveout_small_rule;
extern const Rule limit_above_ram_rule;
extern const Rule unused_option_rule;
extern const Rule community_target_rule;
extern const Rule igpu_beside_discrete_rule;
extern const Rule memory_unknown_rule;
extern const Rule render_node_missing_rule;
extern const Rule limit_not_in_force_rule;
extern const Rule gtt_pool_mismatch_rule;
extern const Rule option_overridden_rule;
extern const Rule option_not_in_force_rule;
extern const Rule cgroup_memory_limit_rule;
extern const Rule uncharged_memory_rule;
extern const Rule ttm_pool_rule;
extern const Rule vram_lost_rule;
extern const Rule wrong_wheel_rule;
extern const Rule gfx_target_missing_rule;
extern const Rule rocm_version_mismatch_rule;
extern const Rule python_too_new_rule;
extern const Rule iommu_translates_rule;
extern const Rule acs_blocks_peers_rule;
extern const Rule pcie_link_degraded_rule;
extern const Rule shm_too_small_rule;
extern const Rule memlock_too_low_rule;
extern const Rule mask_hides_gpu_rule;
extern const Rule mask_names_missing_rule;
extern const Rule mixed_targets_rule;
extern const Rule wsl_rule;
extern const Rule knob_dangerous_rule;
extern const Rule knob_wrong_unit_rule;
extern const Rule knob_unknown_rule;
extern const Rule knob_contradictory_rule;
extern const Rule knob_debugging_aid_rule;
extern const Rule knob_deprecated_rule;
extern const Rule knob_no_effect_rule;

// Among claims of equal weight, the one whose rule comes first is the root cause: it explains those
// after it.
std::span<const Rule* const> rules();

}  // namespace headroom::findings

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

using FindRule = std::vector<Finding> (*)(const Subject&);

struct Rule {
  std::string_view id;  // Of the findings it makes, where it makes only one kind.
  FindRule find;
};

std::vector<Finding> find_gpu_unsupported(const Subject&);
std::vector<Finding> find_driver_not_loaded(const Subject&);
std::vector<Finding> find_kfd_not_passed(const Subject&);
std::vector<Finding> find_device_permission(const Subject&);
std::vector<Finding> find_no_kfd_node(const Subject&);
std::vector<Finding> find_gfx_override(const Subject&);
std::vector<Finding> find_vram_orphaned(const Subject&);
std::vector<Finding> find_vram_held(const Subject&);
std::vector<Finding> find_gfx_target_dropped(const Subject&);
std::vector<Finding> find_carve_out_ignored(const Subject&);
std::vector<Finding> find_gttsize_cap(const Subject&);
std::vector<Finding> find_ttm_cap(const Subject&);
std::vector<Finding> find_uma_carveout_small(const Subject&);
std::vector<Finding> find_limit_above_ram(const Subject&);
std::vector<Finding> find_unused_option(const Subject&);
std::vector<Finding> find_community_target(const Subject&);
std::vector<Finding> find_igpu_beside_discrete(const Subject&);
std::vector<Finding> find_memory_unknown(const Subject&);

// The order is the order of precedence among claims of equal weight: what comes first explains what
// comes after it.
std::span<const Rule> rules();

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// Where a GPU's virtual-memory calls are known to lose data (data/virtual_memory.toml): there they
// stay off, whatever a self-test of two seconds says. What fails loudly is not listed; the
// self-test finds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/advisories.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

struct VirtualMemoryDenial {
  std::string id;
  std::vector<std::string> gfx;        // Targets.
  std::vector<VersionRange> runtimes;  // Of HIP, whose major and minor are ROCm's.
  std::string happens;
  Origin origin;
};

// Fails with the table's line.
Result<std::vector<VirtualMemoryDenial>> parse_virtual_memory(std::string_view text);
// The embedded table. Fails only if it is wrong, which a test excludes.
Result<std::vector<VirtualMemoryDenial>> load_virtual_memory();

// The first row that holds for a target with a HIP of this version; a version that is no version
// matches every row that names the target, since it cannot be excluded. nullptr: none.
const VirtualMemoryDenial* find_denial(const std::vector<VirtualMemoryDenial>& denials,
                                       std::string_view gfx, std::string_view runtime);

}  // namespace headroom::knowledge

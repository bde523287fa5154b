// SPDX-License-Identifier: Apache-2.0
// What to advise about a framework's memory cache. Each framework has settings of its own, and each
// setting named here does something by itself: data/knobs.toml says what it needs and excludes, and
// a test holds the two together.
#pragma once

#include <string_view>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

enum class Framework { torch, tensorflow, jax, other };

// Returns the framework whose allocator wrote the line.
Framework framework_of(const logs::Observation& failed);

// Returns the steps against fragmentation, the one that needs the least first.
std::vector<Step> against_fragmentation(Framework framework);
// The setting of PyTorch's cache that helps with any release: "PYTORCH_HIP_ALLOC_CONF=…".
std::string_view split_less();

// Returns how the job itself can show what its cache holds. Another process cannot see that.
std::string_view cache_contents(Framework framework);

}  // namespace headroom::findings

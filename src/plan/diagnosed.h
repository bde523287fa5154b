// SPDX-License-Identifier: Apache-2.0
// Whether check reports something here.
#pragma once

#include <string_view>

#include "findings/diagnosis.h"

namespace headroom::plan {

// As the root cause or as a finding, also one that only informs.
bool is_diagnosed(const findings::Diagnosis& diagnosis, std::string_view id);

// The same, but not where it only informs: what no job would notice needs no mending.
bool is_trouble(const findings::Diagnosis& diagnosis, std::string_view id);

}  // namespace headroom::plan

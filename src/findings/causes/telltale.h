// SPDX-License-Identifier: Apache-2.0
// What would show that a cause is the case: one observation that a person can make for each.
#pragma once

#include <string_view>

namespace headroom::findings {

// Empty for an id that is not in docs/causes.md.
std::string_view telltale(std::string_view cause);

}  // namespace headroom::findings

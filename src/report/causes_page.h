// SPDX-License-Identifier: Apache-2.0
// The reference page of root causes.
#pragma once

#include <string>

namespace headroom::report {

// docs/causes.md: every root cause that logs can show, from the texts beside the rules' code.
std::string causes_page();

}  // namespace headroom::report

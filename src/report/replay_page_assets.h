// SPDX-License-Identifier: Apache-2.0
// What the page of a replay has beside the style of a plan's page.
#pragma once

#include <string_view>

namespace headroom::report {

extern const std::string_view replay_page_style;

// Says what is held where the pointer is.
extern const std::string_view replay_page_script;

}  // namespace headroom::report

// SPDX-License-Identifier: Apache-2.0
// The styles and scripts of the pages that `headroom plan`, `replay`, `serve` and headroom-train
// make: the files of these names beside this one, compiled in by cmake/Embed.cmake. They stand in
// the page itself, which needs no other file and no network.
#pragma once

#include <string_view>

namespace headroom::report {

extern const std::string_view plan_page_css;
extern const std::string_view plan_page_js;
extern const std::string_view replay_page_css;  // What it has beside the plan's.
extern const std::string_view replay_page_js;
extern const std::string_view run_page_css;  // Likewise.
extern const std::string_view run_page_js;
extern const std::string_view live_page_css;
extern const std::string_view live_page_js;

}  // namespace headroom::report

// SPDX-License-Identifier: Apache-2.0
// The difference of two texts as people read it: a unified diff with three lines of context.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// "--- BEFORE\n+++ AFTER\n@@ …"; empty where the texts are the same. A last line without an end is
// marked as diff(1) does. Texts whose difference is too large to be worth computing (some thousands
// of lines changed) come as one hunk that replaces everything between the equal head and tail.
std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name);

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
// A line as it is shown for one of its places. Evidence has to be readable, and a line of a log may
// have any length.
#pragma once

#include <string>
#include <string_view>

namespace headroom::logs {

// Lines longer than this are cut.
constexpr std::size_t longest_text = 600;

// The line, fit to be shown and cut around the place; what is left out is marked by "…".
std::string cut_around(std::string_view line, std::size_t place);

}  // namespace headroom::logs

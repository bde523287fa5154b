// SPDX-License-Identifier: Apache-2.0
// The tables of data/*.toml, embedded in the program by cmake/Embed.cmake.
#pragma once

#include <string_view>

namespace headroom::knowledge {

// The text of data/<name>.toml; empty if there is no such table.
std::string_view embedded(std::string_view name);

}  // namespace headroom::knowledge

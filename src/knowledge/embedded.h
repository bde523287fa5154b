// SPDX-License-Identifier: Apache-2.0
// The tables of data/*.toml, compiled in by cmake/Embed.cmake: embedded("gpus") is data/gpus.toml.
#pragma once

#include <string_view>

namespace headroom::knowledge {

// Empty for a name that no table has.
std::string_view embedded(std::string_view name);

}  // namespace headroom::knowledge

// SPDX-License-Identifier: Apache-2.0
// The shell beside this code, compiled in by cmake/Embed.cmake: bash_completion.sh.
#pragma once

#include <string_view>

namespace headroom::command_line {

extern const std::string_view bash_completion_sh;

}  // namespace headroom::command_line

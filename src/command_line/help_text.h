// SPDX-License-Identifier: Apache-2.0
// What --help prints of a command.
#pragma once

#include <cstddef>
#include <string>

#include "command_line/description.h"

namespace headroom::command_line {

// How the command is typed: "headroom check [OPTION]...", without a line end.
std::string to_usage(const Command& command);

// The names of an option with what stands behind them: "-q, --quiet", "--via auto|kernel".
std::string to_names(const Option& option);

// Lines that are no wider than `width` where words allow it.
std::string to_help(const Command& command, std::size_t width);

}  // namespace headroom::command_line

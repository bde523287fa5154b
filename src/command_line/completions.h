// SPDX-License-Identifier: Apache-2.0
// Completions for shells: commands, options, and the values that an option has. Behind "--" stands
// another command, which the shell completes by that command's own rules.
#pragma once

#include <string>
#include <string_view>

#include "command_line/description.h"

namespace headroom::command_line {

std::string to_bash_completion(const Command& program);  // bash 4 or newer.
std::string to_zsh_completion(const Command& program);   // A file of $fpath.
std::string to_fish_completion(const Command& program);  // fish 3 or newer.

// A text as one word of a shell, in single quotes.
std::string quote_single(std::string_view text);

// A program's name as a part of a function's name.
std::string function_name(const Command& program);

// The command's own word: "check" of "headroom check".
std::string last_word(const Command& command);

}  // namespace headroom::command_line

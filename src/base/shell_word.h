// SPDX-License-Identifier: Apache-2.0
// One word of a shell's text, from its first byte. Internal to the lexer.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/shell_lexer.h"

namespace headroom {

struct ShellWordSpan {
  std::size_t begin = 0, end = 0;
  std::vector<ShellPart> parts;
};

// The word that begins at `at`; empty if none does.
ShellWordSpan read_shell_word(std::string_view text, std::size_t at, ShellRules rules);

// Past the backslashes at line ends that stand at `at`; `at` if none does. With a carriage return
// too, as files of Windows have them.
std::size_t skip_continued_lines(std::string_view text, std::size_t at);

}  // namespace headroom

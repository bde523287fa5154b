// SPDX-License-Identifier: Apache-2.0
// The markup of man pages: man(7)'s macros, which groff and mandoc both read.
#pragma once

#include <string>
#include <string_view>

namespace headroom::command_line {

// Text that no formatter takes for markup. A hyphen is a minus sign, as it is typed; characters
// outside ASCII are written by their numbers.
std::string escape_roff(std::string_view text);
std::string bold(std::string_view text);
std::string italic(std::string_view text);

// Filled text: one sentence a line, as man pages are written.
std::string to_paragraph(std::string_view text);

}  // namespace headroom::command_line

// SPDX-License-Identifier: Apache-2.0
// Whether a person reads along, and how wide a line they see: the reports take colour and width as
// arguments, and this answers both.
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom::machine {

// stdout is a terminal that shows colour (not TERM=dumb, and NO_COLOR is not set; no-color.org).
bool stdout_shows_colour();

// How many characters a line of what is printed has: those of the terminal, 20 to 200; 100 where
// stdout is none.
std::size_t stdout_width();
// The rule behind it: `columns` as the terminal says, 0 if it does not; `variable` is what COLUMNS
// says, which counts only where a terminal does not say.
std::size_t text_width(bool is_terminal, unsigned columns, std::string_view variable);

// Somebody may be told on stderr what is going on.
bool stderr_is_terminal();

}  // namespace headroom::machine

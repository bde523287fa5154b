// SPDX-License-Identifier: Apache-2.0
// Whether a person reads along: the reports take colour as an argument, and this answers it.
#pragma once

namespace headroom::machine {

// stdout is a terminal that shows colour (not TERM=dumb, and NO_COLOR is not set; no-color.org).
bool stdout_shows_colour();

// Somebody may be told on stderr what is going on.
bool stderr_is_terminal();

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// Lines that a terminal, a mail or a chat folded are put together again. Where a line was folded
// shows by two things: by its width, and by what the signatures find across the border and in
// neither of its sides.
#pragma once

#include "logs/matcher.h"
#include "logs/pasted_lines.h"

namespace headroom::logs {

// True if any lines were joined; a joined line keeps its first line's number.
bool unfold(PastedLines& lines, const Matcher& matcher);

}  // namespace headroom::logs

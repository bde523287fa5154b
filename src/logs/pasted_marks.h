// SPDX-License-Identifier: Apache-2.0
// What a page, a mail or a terminal puts around the lines of a log: code fences, marks of
// quotation, line numbers, frames, the panes of a terminal that stand side by side. Marks are taken
// off where all lines of a run have them, since the same letters may be a log's own.
#pragma once

#include "logs/pasted_lines.h"

namespace headroom::logs {

// Takes away lines that are marks and nothing else, among them tmux's status line, and notes where
// parts begin: behind fences and where something was left out ("[...]", "[snip]"). True if lines
// are gone.
bool drop_fences(PastedLines& lines);

// Puts panes that stand side by side behind one another; lines of the right one get the last
// line's number. True if there were any.
bool split_panes(PastedLines& lines);

// How sure a run of marked lines must be.
enum class Runs {
  whole,  // It stands alone: before and behind it is nothing, a blank line or another part.
  any,
};

// Takes one mark off the lines of each run. True if any was taken off; there may be another below.
bool take_off_marks(PastedLines& lines, Runs runs);

}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
// Letters that a page, a mail program or an editor changed: HTML's entities, curly quotation marks,
// blanks that do not break, "^M" and "^[[31m" in letters of their own, prompts of notebooks, the
// backslashes of Markdown, blanks that fill up lines.
#pragma once

#include "logs/matcher.h"
#include "logs/pasted_lines.h"

namespace headroom::logs {

// Changes them back. True if anything changed. Curly marks in pairs, which programs write
// themselves, stay where they make no difference to the signatures.
bool mend_letters(PastedLines& lines, const Matcher& matcher);

// Takes away the blanks with which a terminal fills up each line to its width, and the two by which
// Markdown ends one. They hide how wide a folded line is. Tools write such lines themselves, so
// that they are no sign of a paste.
void take_off_padding(PastedLines& lines);

}  // namespace headroom::logs

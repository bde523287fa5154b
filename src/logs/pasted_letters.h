// SPDX-License-Identifier: Apache-2.0
// Letters that a page, a mail program or an editor changed: HTML's entities, curly quotation marks,
// blanks that do not break, "^M" and "^[[31m" in letters of their own, prompts of notebooks.
#pragma once

#include "logs/matcher.h"
#include "logs/pasted_lines.h"

namespace headroom::logs {

// Changes them back. True if anything changed. Curly marks in pairs, which programs write
// themselves, stay where they make no difference to the signatures.
bool mend_letters(PastedLines& lines, const Matcher& matcher);

}  // namespace headroom::logs

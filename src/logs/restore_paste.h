// SPDX-License-Identifier: Apache-2.0
// A text as somebody pasted it → the lines that a program wrote: letters, marks and folds are put
// right again. What reads as logs are written stays as it is.
#pragma once

#include <optional>
#include <string_view>

#include "logs/matcher.h"
#include "logs/pasted_lines.h"

namespace headroom::logs {

// Nothing if there is nothing to put right. Numbers of the lines go up.
std::optional<PastedLines> restore_paste(std::string_view text, const Matcher& matcher);

}  // namespace headroom::logs

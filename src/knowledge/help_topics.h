// SPDX-License-Identifier: Apache-2.0
// The texts of `headroom help TOPIC`: data/help.toml. Each is written for a reader who has a
// problem now, and ends with the commands that answer it on the reader's machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::knowledge {

struct HelpTopic {
  std::string id;                 // "memory", as it is typed.
  std::vector<std::string> also;  // Other words that people type for it: "env".
  std::string about;              // What the reader asks: one line.
  std::string text;               // Paragraphs; a line that begins with two blanks stays as it is.
};

// Fails with the table's line.
Result<std::vector<HelpTopic>> parse_help_topics(std::string_view text);
// The embedded table. Fails only if it is wrong, which a test excludes.
Result<std::vector<HelpTopic>> load_help_topics();

}  // namespace headroom::knowledge

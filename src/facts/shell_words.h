// SPDX-License-Identifier: Apache-2.0
// Words of a shell's line, quotes resolved and nothing expanded, to read assignments and options
// out of what people paste: commands inside of "$(…)" and "`…`" are commands too. systemd's and
// Docker's lines follow near rules and are read with the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::facts {

struct Word {
  std::string text;
  bool quoted = false;     // Some of it was in quotes.
  bool separator = false;  // Some of ; & | ( ) < > `, which end a command.
};
// Up to a comment or the end. An unclosed quote runs to the end.
std::vector<Word> split_shell_words(std::string_view line);

// Lines joined where one ends with a backslash; `number` is the first one's, from 1.
struct LogicalLine {
  int number = 0;
  std::string text;
};
std::vector<LogicalLine> join_continued_lines(std::string_view text);

// "NAME=VALUE" with a name that a shell accepts: the length of the name, else 0.
std::size_t assigned_name_length(std::string_view word);

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
// A shell script as lines of commands of words, each with its bytes. Comments and here-documents
// are left out, and nothing is expanded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::plan {

struct ShellWord {
  std::size_t begin = 0, end = 0;
  std::string text;  // Quotes resolved; substitutions as they stand.
};

struct ShellCommand {
  std::vector<ShellWord> words;
  std::string before;  // The word or separator that stands before it, on earlier lines too.
};

// One line with its continuations, and the lines of a string that it begins.
struct ShellLine {
  int number = 0;
  std::size_t begin = 0, end = 0;  // Without the line's end.
  std::vector<ShellCommand> commands;
  bool separated = false;  // A ;, &, |, parenthesis or redirection stands in it.
};

std::vector<ShellLine> scan_shell(std::string_view text);

}  // namespace headroom::plan

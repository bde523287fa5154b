// SPDX-License-Identifier: Apache-2.0
// How text for people looks: colour only where the reader has a terminal, lines folded to a width,
// and columns that line up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"

namespace headroom::report {

struct Style {
  bool colour = false;
  std::size_t width = 100;

  std::string bold(std::string_view text) const { return paint(text, "1"); }
  std::string dim(std::string_view text) const { return paint(text, "2"); }
  std::string red(std::string_view text) const { return paint(text, "1;31"); }
  std::string yellow(std::string_view text) const { return paint(text, "1;33"); }
  std::string green(std::string_view text) const { return paint(text, "1;32"); }

 private:
  std::string paint(std::string_view text, std::string_view code) const;
};

// Folds at blanks so that no line is longer than `width` where a word allows it. The first line
// begins with `first`, the others with as many blanks as it is wide; where that would leave less
// than half of the width, with little more than the blanks that `first` begins with.
std::string fold(std::string_view text, std::string_view first, std::size_t width);

// Words that stay on one line however narrow it is, because somebody copies them: a command, a line
// of a file. Only for text that fit() sees.
std::string keep_whole(std::string_view text);
// A whole report: lines that are too long are folded below where they begin, all others stay byte
// for byte. What keep_whole() joined is blanks again.
std::string fit(std::string_view text, std::size_t width);
// "Next: COMMAND   (remark)", the remark below the command where one line is too short for both.
std::string next_line(std::string_view command, std::string_view remark, const Style& style);

// Characters on the screen, UTF-8 code points counted as one and colours as none.
std::size_t display_width(std::string_view text);

enum class Align { left, right };

// Rows of cells as aligned lines, each cell followed by two blanks; the last column is not padded.
std::vector<std::string> align(const std::vector<std::vector<std::string>>& rows,
                               const std::vector<Align>& columns);

// The same with `indent` blanks in front, and no line wider than `width` where words allow it:
// columns of words are folded where all of them still fit beside each other, and below that each
// row becomes a short list of its cells, named by the headings.
struct TableLine {
  std::size_t row = 0;  // The row that it belongs to.
  std::string text;
};
std::vector<TableLine> table(const std::vector<std::vector<std::string>>& rows,
                             const std::vector<Align>& columns, std::size_t indent,
                             std::size_t width);

// At most `longest` characters, the last one "…" where some are left out.
std::string shorten(std::string_view text, std::size_t longest);

using headroom::printable;  // Everything that is quoted passes through it.

}  // namespace headroom::report

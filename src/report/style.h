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
// begins with `first`, the others with as many blanks as it is wide.
std::string fold(std::string_view text, std::string_view first, std::size_t width);

// Characters on the screen, UTF-8 code points counted as one.
std::size_t display_width(std::string_view text);

enum class Align { left, right };

// Rows of cells as aligned lines, each cell followed by two blanks; the last column is not padded.
std::vector<std::string> align(const std::vector<std::vector<std::string>>& rows,
                               const std::vector<Align>& columns);

// At most `longest` characters, the last one "…" where some are left out.
std::string shorten(std::string_view text, std::size_t longest);

using headroom::printable;  // Everything that is quoted passes through it.

}  // namespace headroom::report

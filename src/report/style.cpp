// SPDX-License-Identifier: Apache-2.0
#include "report/style.h"

#include <algorithm>

#include "base/text.h"

namespace headroom::report {

std::string Style::paint(std::string_view text, std::string_view code) const {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::string shorten(std::string_view text, std::size_t longest) {
  if (display_width(text) <= longest) return std::string(text);
  std::size_t end = 0;
  for (std::size_t width = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (begins && ++width == longest) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string fold(std::string_view text, std::string_view first, std::size_t width) {
  const std::size_t indent = display_width(first);
  std::string folded(first);
  std::size_t column = indent;
  bool begun = false;
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t length = display_width(word);
    if (begun && column + 1 + length > width) {
      folded += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (begun) {
      folded += ' ';
      ++column;
    }
    folded += word;
    column += length;
    begun = true;
  }
  return folded + "\n";
}

std::vector<std::string> align(const std::vector<std::vector<std::string>>& rows,
                               const std::vector<Align>& columns) {
  std::vector<std::size_t> widths(columns.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - display_width(row[i]), ' ');
      const bool last = i + 1 == row.size();
      if (columns[i] == Align::right) line += blanks;
      line += row[i];
      if (columns[i] == Align::left && !last) line += blanks;
      if (!last) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace headroom::report

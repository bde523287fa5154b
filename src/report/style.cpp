// SPDX-License-Identifier: Apache-2.0
#include "report/style.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::report {

std::string Style::paint(std::string_view text, std::string_view code) const {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "\x1b[") {  // A colour: up to its "m".
      at = std::min(text.find('m', at), text.size());
      continue;
    }
    if ((static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U) ++width;
  }
  return width;
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

namespace {

// Stands for a blank that no line is broken at; no text that was quoted holds it (printable()).
constexpr char whole_blank = '\x1f';

// What a line begins with, before its first word.
struct Beginning {
  std::size_t blanks = 0;
  std::string colours;  // Among them.
  std::string_view rest;
};

Beginning beginning_of(std::string_view line) {
  Beginning found{0, "", line};
  for (;;) {
    std::string_view& rest = found.rest;
    const std::size_t colour = rest.starts_with("\x1b[") ? rest.find('m') : std::string_view::npos;
    if (rest.starts_with(' ')) {
      ++found.blanks;
      rest.remove_prefix(1);
    } else if (colour != std::string_view::npos) {
      found.colours += rest.substr(0, colour + 1);
      rest.remove_prefix(colour + 1);
    } else {
      return found;
    }
  }
}

// From column `column` on; later lines begin with `indent` blanks. A run of blanks that a line is
// broken in goes with the break. A word that is too long for any line stays behind what little may
// stand before it, such as the number of a step.
std::string fold_words(std::string_view text, std::size_t column, std::size_t indent,
                       std::size_t width) {
  std::string folded;
  std::string blanks;  // Before the next word.
  bool begun = false;
  for (const std::string_view word : split(text, ' ')) {
    if (begun) blanks += ' ';
    begun = true;
    if (word.empty()) continue;
    const std::size_t length = display_width(word);
    const bool too_long_anyway = indent + length > width && column <= width / 8;
    if (!blanks.empty() && !too_long_anyway && column + blanks.size() + length > width) {
      folded += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      folded += blanks;
      column += blanks.size();
    }
    blanks.clear();
    folded += word;
    column += length;
  }
  return folded + blanks + "\n";
}

// Without blanks at the ends of lines, which runs of blanks leave where they are broken.
std::string trim_ends(const std::string& text) {
  std::string trimmed;
  for (const char c : text) {
    if (c == '\n') trimmed.erase(trimmed.find_last_not_of(' ') + 1);
    trimmed += c;
  }
  return trimmed;
}

}  // namespace

std::string fold(std::string_view text, std::string_view first, std::size_t width) {
  const std::size_t indent = display_width(first);
  if (indent * 2 <= width) return std::string(first) + fold_words(text, indent, indent, width);
  const Beginning begin = beginning_of(first);
  const std::size_t lead = std::min(begin.blanks, width / 4);
  const std::string words = begin.colours + std::string(begin.rest) + std::string(text);
  return trim_ends(std::string(lead, ' ') + fold_words(words, lead, lead + 2, width));
}

std::string keep_whole(std::string_view text) {
  std::string whole(text);
  std::replace(whole.begin(), whole.end(), ' ', whole_blank);
  return whole;
}

std::string fit(std::string_view text, std::size_t width) {
  std::string fitted;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (display_width(line) <= width) {
      fitted += std::string(line) + (end < text.size() ? "\n" : "");
      continue;
    }
    const Beginning first = beginning_of(line);
    const std::size_t lead = std::min(first.blanks, width / 4);
    fitted += trim_ends(std::string(lead, ' ') + first.colours +
                        fold_words(first.rest, lead, lead + 2, width));
  }
  std::replace(fitted.begin(), fitted.end(), whole_blank, ' ');
  return fitted;
}

std::string next_line(std::string_view command, std::string_view remark, const Style& style) {
  const std::string first = "Next: " + style.bold(keep_whole(command));
  if (remark.empty()) return first + "\n";
  std::string line = fmt::format("{}   {}\n", first, remark);
  if (display_width(line) <= style.width + 1) return line;  // With the end of the line.
  return first + "\n" + fold(remark, "      ", style.width);
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

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::size_t longest_word(std::string_view cell) {
  std::size_t longest = 0;
  for (const std::string_view word : split(cell, ' ')) {
    longest = std::max(longest, display_width(word));
  }
  return longest;
}

// A column of words narrower than this is one of torn sentences.
constexpr std::size_t readable = 14;

// How wide each column may be so that all fit; empty where they cannot stand beside each other.
// Figures are not folded; columns of words keep their longest word, and what can be read.
std::vector<std::size_t> column_widths(const Rows& rows, const std::vector<Align>& columns,
                                       std::size_t room) {
  std::vector<std::size_t> widths(columns.size());
  std::vector<std::size_t> least(columns.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
      const std::size_t whole = display_width(row[i]);
      const bool words = columns[i] == Align::left;
      least[i] = std::max(
          least[i], words ? std::max(longest_word(row[i]), std::min(whole, readable)) : whole);
    }
  }
  std::size_t total = 2 * (columns.size() - 1);
  for (const std::size_t width : widths) total += width;
  while (total > room) {
    std::size_t widest = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool can = widths[i] > least[i];
      if (can && (widest == columns.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == columns.size()) return {};
    --widths[widest];
    --total;
  }
  return widths;
}

// A row whose cells are folded to their widths, as rows of one line each.
Rows fold_cells(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  Rows lines;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string folded =
        trim_ends(fold_words(row[i], 0, 0, std::max<std::size_t>(1, widths[i])));
    std::size_t at = 0;
    for (const std::string_view part : split_lines(folded)) {
      if (lines.size() <= at) lines.emplace_back(row.size());
      lines[at++][i] = part;
    }
  }
  if (lines.empty()) lines.emplace_back(row.size());
  return lines;
}

// Each row as its first words, and below them its other cells by their headings.
std::vector<TableLine> list_rows(const Rows& rows, std::size_t indent, std::size_t width) {
  std::vector<TableLine> lines;
  const auto add = [&](std::size_t row, const std::string& text) {
    for (const std::string_view line : split_lines(text)) lines.push_back({row, std::string(line)});
  };
  for (std::size_t i = 1; i < rows.size(); ++i) {
    std::string begin;
    bool begun = false;
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const std::string cell(trim(rows[i][j]));
      if (cell.empty()) continue;
      const std::string heading(trim(rows[0][j]));
      if (begun) {
        const std::string named = heading.empty() ? cell : fmt::format("{}: {}", heading, cell);
        add(i, fold(named, std::string(indent + 2, ' '), width));
      } else if (heading.empty()) {  // A mark in front.
        begin += cell + " ";
      } else {
        add(i, fold(begin + cell, std::string(indent, ' '), width));
        begun = true;
      }
    }
    if (!begun && !begin.empty()) add(i, fold(trim(begin), std::string(indent, ' '), width));
  }
  return lines;
}

}  // namespace

std::vector<TableLine> table(const Rows& rows, const std::vector<Align>& columns,
                             std::size_t indent, std::size_t width) {
  if (rows.empty()) return {};
  const std::size_t room = width > indent ? width - indent : 0;
  const auto widths = column_widths(rows, columns, room);
  if (widths.empty()) return list_rows(rows, std::min(indent, width / 4), width);
  Rows folded;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto& line : fold_cells(rows[i], widths)) {
      folded.push_back(std::move(line));
      of.push_back(i);
    }
  }
  std::vector<TableLine> lines;
  const auto aligned = align(folded, columns);
  for (std::size_t i = 0; i < aligned.size(); ++i) {
    lines.push_back({of[i], std::string(indent, ' ') + aligned[i]});
  }
  return lines;
}

}  // namespace headroom::report

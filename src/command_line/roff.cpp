// SPDX-License-Identifier: Apache-2.0
#include "command_line/roff.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"

namespace headroom::command_line {
namespace {

constexpr unsigned char first_beyond_ascii = 0x80;

// The code point whose UTF-8 begins at `at`, which moves to its last byte. Our own texts are valid.
std::uint32_t code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t rest = lead >= 0xF0U ? 3 : lead >= 0xE0U ? 2 : 1;
  std::uint32_t point = lead & (0x3FU >> rest);
  for (std::size_t i = 0; i < rest && at + 1 < text.size(); ++i)
    point = point << 6U | (static_cast<unsigned char>(text[++at]) & 0x3FU);
  return point;
}

}  // namespace

std::string escape_roff(std::string_view text) {
  std::string escaped;
  if (text.starts_with('.') || text.starts_with('\'')) escaped = "\\&";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (static_cast<unsigned char>(letter) >= first_beyond_ascii) {
      escaped += fmt::format("\\[u{:04X}]", code_point(text, i));
    } else if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else if (letter == '"') {
      escaped += "\\(dq";
    } else if (letter == '\'') {
      escaped += "\\(aq";
    } else if (letter == '~') {
      escaped += "\\(ti";
    } else if (letter == '^') {
      escaped += "\\(ha";
    } else if (letter == '`') {
      escaped += "\\(ga";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) {
  return "\\fB" + escape_roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + escape_roff(text) + "\\fR";
}

std::string to_paragraph(std::string_view text) {
  constexpr std::size_t line_width = 78;  // In bytes, with what is escaped.
  std::string paragraph;
  std::string line;
  const auto end_line = [&paragraph, &line] {
    if (!line.empty()) paragraph += line + "\n";
    line.clear();
  };
  for (const std::string_view word : split_words(text)) {
    std::string escaped = escape_roff(word);
    if (!line.empty() && line.size() + 1 + escaped.size() > line_width) end_line();
    line.append(line.empty() ? "" : " ").append(escaped);
    if (word.ends_with('.')) end_line();
  }
  end_line();
  return paragraph;
}

}  // namespace headroom::command_line

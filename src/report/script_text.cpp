// SPDX-License-Identifier: Apache-2.0
#include "report/script_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"

namespace headroom::report {
namespace {

// Shells drop NUL, and a script with hidden characters could steer the terminal of its reader.
bool is_lines(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() != '\n') return false;
  return printable_lines(bytes) == bytes;
}

// A line that does not occur in the text.
std::string end_mark(std::string_view text) {
  const auto lines = split_lines(text);
  std::string mark = "END";
  while (std::find(lines.begin(), lines.end(), mark) != lines.end()) mark += "_";
  return mark;
}

// printf(1), "%b": "\0ddd".
std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\0{:03o}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string feed(std::string_view command, std::string_view bytes) {
  if (is_lines(bytes)) {
    const std::string mark = end_mark(bytes);
    return fmt::format("{} <<'{}'\n{}{}\n", command, mark, bytes, mark);
  }
  constexpr std::size_t piece = 512;
  std::string lines = "{\n";
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    lines += fmt::format("printf '%b' '{}'\n", escaped(bytes.substr(i, piece)));
  }
  return fmt::format("{}}} | {}\n", lines, command);
}

}  // namespace headroom::report

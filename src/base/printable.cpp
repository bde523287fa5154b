// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/encoding.h"

namespace headroom {
namespace {

struct Range {
  char32_t first = 0, last = 0;
};

// Ascending.
constexpr std::array hidden_ranges{
    Range{0x00, 0x1f},       Range{0x7f, 0x9f},       Range{0xad, 0xad},
    Range{0x34f, 0x34f},     Range{0x61c, 0x61c},     Range{0x115f, 0x1160},
    Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f},   Range{0x200b, 0x200f},
    Range{0x2028, 0x202e},   Range{0x2060, 0x206f},   Range{0x3164, 0x3164},
    Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},
    Range{0xfff0, 0xfffb},   Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a},
    Range{0xe0000, 0xe0fff},
};

// What report::Style begins and ends a coloured piece with.
constexpr std::array<std::string_view, 6> colours = {"\x1b[0m",    "\x1b[1m",    "\x1b[2m",
                                                     "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"};

std::size_t colour_length(std::string_view text) {
  const auto* found = std::find_if(colours.begin(), colours.end(), [text](std::string_view colour) {
    return text.starts_with(colour);
  });
  return found == colours.end() ? 0 : found->size();
}

// The number of leading bytes that may be shown as they are, found quickly: most text is all ASCII.
std::size_t plain_length(std::string_view text) {
  const auto* end = std::find_if(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 || code >= 0x7f;
  });
  return static_cast<std::size_t>(end - text.begin());
}

// Copies `text`; of everything that is not to be shown `stands_in` says what takes its place.
template <class Keeps, class StandsIn>
std::string rewrite(std::string_view text, Keeps keeps, StandsIn stands_in) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = std::max(plain_length(text), keeps(text));
    if (taken > 0) {
      clean += text.substr(0, taken);
    } else {
      const CodePoint next = first_code_point(text);
      taken = next.length;
      const bool shown = next.is_valid && !is_hidden(next.value);
      clean += shown ? std::string(text.substr(0, taken)) : stands_in(next);
    }
    text.remove_prefix(taken);
  }
  return clean;
}

std::string question_mark(const CodePoint& /*code*/) {
  return "?";
}

std::size_t keeps_nothing(std::string_view /*text*/) {
  return 0;
}

std::size_t keeps_lines(std::string_view text) {
  return text.front() == '\n' || text.front() == '\t' ? 1 : 0;
}

std::size_t keeps_page(std::string_view text) {
  return std::max(keeps_lines(text), colour_length(text));
}

// RFC 8259 §7: beyond the first plane as a pair of surrogates.
std::string json_escape(const CodePoint& code) {
  if (!code.is_valid) return "\xef\xbf\xbd";
  const auto value = static_cast<std::uint32_t>(code.value);
  if (value < 0x10000) return fmt::format("\\u{:04x}", value);
  const std::uint32_t rest = value - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (rest >> 10U), 0xdc00U + (rest & 0x3ffU));
}

}  // namespace

bool is_hidden(char32_t code) {
  return std::any_of(hidden_ranges.begin(), hidden_ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

std::string printable(std::string_view text) {
  return rewrite(text, keeps_nothing, question_mark);
}

std::string printable_lines(std::string_view text) {
  return rewrite(text, keeps_lines, question_mark);
}

std::string printable_page(std::string_view text) {
  return rewrite(text, keeps_page, question_mark);
}

// Outside of strings JSON has no character that would be replaced: line ends and tabs between
// values stay.
std::string printable_json(std::string_view json) {
  return rewrite(json, keeps_lines, json_escape);
}

}  // namespace headroom

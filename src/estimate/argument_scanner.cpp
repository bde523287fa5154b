// SPDX-License-Identifier: Apache-2.0
#include "estimate/argument_scanner.h"

#include <algorithm>

#include "base/text.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::uint64_t largest = 1'000'000'000'000'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return is_capital(c) || (c >= 'a' && c <= 'z');
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}
bool is_name(char c) {
  return is_word(c) || c == '-' || c == '.';
}

}  // namespace

bool ArgumentScanner::next() {
  std::size_t i = at_;
  while (i < line_.size() &&
         !((is_letter(line_[i]) || line_[i] == '_') && (i == 0 || !is_word(line_[i - 1])))) {
    ++i;
  }
  if (i >= line_.size()) return false;
  begin_ = i;
  while (i < line_.size() && is_name(line_[i])) ++i;
  while (line_[i - 1] == '-' || line_[i - 1] == '.') --i;
  end_ = at_ = i;
  dashes_ = 0;
  while (dashes_ < 2 && dashes_ < begin_ && line_[begin_ - dashes_ - 1] == '-') ++dashes_;
  const bool apart = begin_ == dashes_ || !is_name(line_[begin_ - dashes_ - 1]);
  if (!apart) dashes_ = 0;
  return true;
}

std::size_t ArgumentScanner::end_of(std::size_t more_words) const {
  std::size_t end = end_;
  for (std::size_t word = 0; word < more_words; ++word) {
    if (end + 1 >= line_.size() || line_[end] != ' ' || !is_letter(line_[end + 1])) return npos;
    ++end;
    while (end < line_.size() && is_word(line_[end])) ++end;
  }
  return end;
}

std::string ArgumentScanner::name(std::size_t more_words) const {
  const std::size_t end = end_of(more_words);
  if (end == npos) return {};
  std::string_view written = line_.substr(begin_, end - begin_);
  if (const std::size_t group = written.rfind('.'); group != npos) written.remove_prefix(group + 1);
  std::string name;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if (is_capital(c)) {
      const bool hump = i > 0 && !is_capital(written[i - 1]) && is_letter(written[i - 1]);
      if (hump) name += '_';
      name += static_cast<char>(c - 'A' + 'a');
    } else {
      name += c == '-' || c == ' ' ? '_' : c;
    }
  }
  return name;
}

std::string ArgumentScanner::spelled(std::size_t more_words) const {
  const std::size_t end = std::min(end_of(more_words), line_.size());
  return std::string(line_.substr(begin_ - dashes_, end - begin_ + dashes_));
}

std::size_t ArgumentScanner::skip_any(std::size_t position, std::string_view characters) const {
  return std::min(line_.find_first_not_of(characters, position), line_.size());
}

// Behind "=", ":", "....", a table's "|" or, after an option, blanks; npos if none of them is
// there.
std::size_t ArgumentScanner::value_start(std::size_t position) const {
  const bool option = dashes_ > 0;
  const std::size_t quoted = skip_any(position, "\"'`");
  std::size_t i = skip_any(quoted, " \t");
  const bool blank = i > quoted;
  if (i >= line_.size()) return npos;
  const std::size_t dots = skip_any(i, ".");
  const std::string_view rest = line_.substr(i);
  constexpr std::string_view border = "│";
  if (rest.starts_with("==") || rest.starts_with("::")) return npos;
  if (dots - i >= 3) {
    i = skip_any(dots, " \t:=");
  } else if (rest.starts_with(border)) {
    i = skip_any(i + border.size(), " \t");
  } else if (line_[i] == '=' || line_[i] == ':' || line_[i] == '|' ||
             (option && quoted > position && line_[i] == ',')) {  // ["--batch_size", "64"]
    i = skip_any(i + 1, " \t");
  } else if (!option || !blank) {
    return npos;
  }
  return skip_any(i, "\"'`[( ");
}

// 64, 1_024, 64.0, 5e8; not 0.5, 64k or 3-4. Leaves `position` behind it.
std::optional<std::uint64_t> ArgumentScanner::number_at(std::size_t& position) const {
  std::size_t i = position;
  std::uint64_t value = 0;
  for (; i < line_.size() && (is_digit(line_[i]) || line_[i] == '_'); ++i) {
    if (line_[i] == '_') continue;
    value = value * 10 + static_cast<std::uint64_t>(line_[i] - '0');
    if (value > largest) return std::nullopt;
  }
  if (i == position || !is_digit(line_[position])) return std::nullopt;
  const bool has_point = i + 1 < line_.size() && line_[i] == '.' && is_digit(line_[i + 1]);
  if (has_point) {
    i = skip_any(i + 1, "0");
    if (i < line_.size() && is_digit(line_[i])) return std::nullopt;
  }
  if (i + 1 < line_.size() && (line_[i] == 'e' || line_[i] == 'E')) {
    i += line_[i + 1] == '+' ? 2 : 1;
    std::uint64_t exponent = 0;
    const std::size_t digits = i;
    for (; i < line_.size() && is_digit(line_[i]) && exponent < 100; ++i)
      exponent = exponent * 10 + static_cast<std::uint64_t>(line_[i] - '0');
    if (i == digits) return std::nullopt;
    for (; exponent > 0; --exponent) {
      value *= 10;
      if (value > largest) return std::nullopt;
    }
  }
  position = i;
  return value;
}

std::optional<ArgumentScanner::Value> ArgumentScanner::value(std::size_t more_words) const {
  const std::size_t end = end_of(more_words);
  if (end == npos) return std::nullopt;
  std::size_t i = value_start(end);
  if (i == npos || i >= line_.size()) return std::nullopt;
  Value value;
  std::size_t word_end = i;
  while (word_end < line_.size() && is_name(line_[word_end])) ++word_end;
  value.word = line_.substr(i, word_end - i);
  value.number = number_at(i);
  if (!value.number) return value;
  std::size_t next = skip_any(i, " ");
  const std::string_view rest = line_.substr(next);
  const bool by_sign = rest.starts_with("×");
  if (by_sign || rest.starts_with("x") || rest.starts_with("X") || rest.starts_with(",")) {
    value.by_x = by_sign || rest[0] != ',';
    next = skip_any(next + (by_sign ? std::string_view("×").size() : 1), " ");
    value.second = number_at(next);
    if (value.second) i = next;
  }
  // A letter or a sign right behind it: the number was part of something else, as of a date.
  const bool joined =
      i + 1 < line_.size() && (line_[i] == '-' || line_[i] == ':') && is_digit(line_[i + 1]);
  const bool cut = joined || (i < line_.size() && (is_word(line_[i]) || line_[i] == '%'));
  if (cut) value.number = value.second = std::nullopt;
  return value;
}

}  // namespace headroom::estimate

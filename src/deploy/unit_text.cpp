// SPDX-License-Identifier: Apache-2.0
#include "deploy/unit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::deploy {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_comment(std::string_view line) {
  const std::string_view text = trim(line);
  return !text.empty() && (text.front() == '#' || text.front() == ';');
}

bool goes_on(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return !line.empty() && line.back() == '\\';
}

std::size_t next_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// One line without its end.
std::string_view line_at(std::string_view text, std::size_t at) {
  std::string_view line = text.substr(at, text.find('\n', at) - at);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// A backslash at the end of a line, and comments between it and the line that goes on, are a blank.
// Returns how many bytes that is; 0 if it does not stand here.
std::size_t continuation(std::string_view text, std::size_t at, std::size_t end) {
  if (text[at] != '\\') return 0;
  std::size_t next = at + 1;
  if (next < end && text[next] == '\r') ++next;
  if (next >= end || text[next] != '\n') return 0;
  ++next;
  while (next < end && is_comment(line_at(text, next))) next = next_line(text, next);
  return std::min(next, end) - at;
}

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 's':
      return ' ';
    default:
      return c;
  }
}

}  // namespace

std::vector<UnitWord> split_unit_words(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<UnitWord> words;
  std::size_t at = begin;
  while (at < end) {
    if (const std::size_t skip = continuation(text, at, end)) {
      at += skip;
      continue;
    }
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    UnitWord word{"", at, at};
    char quote = 0;
    for (; at < end; ++at) {
      const char c = text[at];
      if (const std::size_t skip = continuation(text, at, end)) {
        if (quote == 0) break;
        word.text += ' ';
        at += skip - 1;
      } else if (quote == 0 && is_blank(c)) {
        break;
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else if (c == '\\' && at + 1 < end) {
        word.text += unescaped(text[++at]);
      } else {
        word.text += c;
      }
    }
    word.end = at;
    words.push_back(std::move(word));
  }
  return words;
}

UnitText::UnitText(std::string_view text) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const std::size_t first = line;
    std::string_view content = line_at(text, at);
    at = next_line(text, at);
    ++line;
    const std::string_view trimmed = trim(content);
    if (trimmed.empty() || is_comment(content)) continue;
    if (trimmed.front() == '[' && trimmed.back() == ']') {
      sections_.push_back({std::string(trimmed.substr(1, trimmed.size() - 2)), at});
      continue;
    }
    while (goes_on(content) && at < text.size()) {
      content = line_at(text, at);
      at = next_line(text, at);
      ++line;
      while (is_comment(content) && at < text.size()) {
        content = line_at(text, at);
        at = next_line(text, at);
        ++line;
      }
    }
    read_assignment(text, begin, at, first);
    if (!sections_.empty()) sections_.back().end = at;
  }
}

void UnitText::read_assignment(std::string_view text, std::size_t begin, std::size_t end,
                               std::size_t line) {
  const std::size_t equals = text.find('=', begin);
  if (equals >= end) return;  // systemd ignores what is no assignment, and says so.
  Assignment one;
  one.section = sections_.empty() ? "" : sections_.back().name;
  one.key = trim(text.substr(begin, equals - begin));
  one.line = line;
  one.begin = begin;
  one.end = end;
  one.value_begin = equals + 1;
  one.value_end = end;
  while (one.value_begin < end && is_blank(text[one.value_begin])) ++one.value_begin;
  while (one.value_end > one.value_begin && is_blank(text[one.value_end - 1])) --one.value_end;
  one.words = split_unit_words(text, one.value_begin, one.value_end);
  assignments_.push_back(std::move(one));
}

std::vector<const Assignment*> UnitText::all(std::string_view section, std::string_view key) const {
  std::vector<const Assignment*> found;
  for (const Assignment& one : assignments_) {
    if (one.section != section || one.key != key) continue;
    if (one.is_reset()) {
      found.clear();
    } else {
      found.push_back(&one);
    }
  }
  return found;
}

const Assignment* UnitText::last(std::string_view section, std::string_view key) const {
  const auto found = all(section, key);
  return found.empty() ? nullptr : found.back();
}

std::size_t UnitText::end_of(std::string_view section) const {
  for (auto one = sections_.rbegin(); one != sections_.rend(); ++one) {
    if (one->name == section) return one->end;
  }
  return std::string_view::npos;
}

std::string unit_word(std::string_view word, Dollar dollar) {
  std::string text;
  bool quotes = word.empty();
  for (const char c : word) {
    if (c == '%') text += '%';
    if (c == '$' && dollar == Dollar::expands) text += '$';
    if (c == '"' || c == '\\') text += '\\';
    text += c;
    quotes = quotes || is_blank(c) || c == '"' || c == '\\' || c == '\'' || c == '#' || c == ';';
  }
  return quotes ? '"' + text + '"' : text;
}

std::string undo_expansions(std::string_view word, Dollar dollar) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    text += word[i];
    const bool doubled = word[i] == '%' || (word[i] == '$' && dollar == Dollar::expands);
    if (doubled && i + 1 < word.size() && word[i + 1] == word[i]) ++i;
  }
  return text;
}

}  // namespace headroom::deploy

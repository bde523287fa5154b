// SPDX-License-Identifier: Apache-2.0
#include "facts/shell_words.h"

#include "base/shell_lexer.h"
#include "base/text.h"

namespace headroom::facts {
namespace {

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

std::vector<Word> split_shell_words(std::string_view line) {
  std::vector<Word> words;
  std::size_t separator_end = 0;  // Where the last word ends, if it is a separator.
  for (ShellToken& token : lex_shell(line, {.expansions = false})) {
    const std::string_view bytes = line.substr(token.begin, token.end - token.begin);
    if (token.kind == ShellToken::Kind::comment) break;
    if (token.is_word()) {
      words.push_back({std::move(token.text), token.quoted, false});
    } else if (token.kind == ShellToken::Kind::separator ||
               token.kind == ShellToken::Kind::redirection) {
      const bool joins = !words.empty() && words.back().separator && separator_end == token.begin;
      if (!joins) words.push_back({"", false, true});
      words.back().text += bytes;
      separator_end = token.end;
    }
  }
  return words;
}

std::vector<LogicalLine> join_continued_lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  bool continued = false;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (!continued) lines.push_back({number, ""});
    lines.back().text += line;
    continued = line.ends_with('\\') && !trim(line).starts_with('#');
    if (continued) lines.back().text.back() = ' ';
  }
  return lines;
}

std::size_t assigned_name_length(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || !is_letter(word[0])) return 0;
  for (const char c : word.substr(0, equals)) {
    if (!is_letter(c) && (c < '0' || c > '9')) return 0;
  }
  return equals;
}

}  // namespace headroom::facts

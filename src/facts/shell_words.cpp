// SPDX-License-Identifier: Apache-2.0
#include "facts/shell_words.h"

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::string_view separators = ";&|()<>`";

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view line) : line_(line) {}

  std::vector<Word> split() {
    while (at_ < line_.size()) {
      const char c = line_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        finish();
        ++at_;
      } else if (c == '#' && !open_) {
        break;
      } else if (separators.find(c) != std::string_view::npos) {
        separate();
      } else {
        take(c);
      }
    }
    finish();
    return std::move(words_);
  }

 private:
  void take(char c) {
    open_ = true;
    ++at_;
    if (c == '\\') {
      if (at_ < line_.size()) word_.text += line_[at_++];
    } else if (c == '\'' || c == '"') {
      take_quoted(c);
    } else {
      word_.text += c;
    }
  }

  void take_quoted(char quote) {
    word_.quoted = true;
    while (at_ < line_.size() && line_[at_] != quote) {
      const bool escaped = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size() &&
                           (line_[at_ + 1] == '"' || line_[at_ + 1] == '\\');
      if (escaped) ++at_;
      word_.text += line_[at_++];
    }
    ++at_;  // The closing quote, or past the end.
  }

  void separate() {
    finish();
    Word separator;
    separator.separator = true;
    while (at_ < line_.size() && separators.find(line_[at_]) != std::string_view::npos) {
      separator.text += line_[at_++];
    }
    words_.push_back(std::move(separator));
  }

  void finish() {
    if (open_) words_.push_back(std::move(word_));
    word_ = {};
    open_ = false;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  Word word_;
  bool open_ = false;  // A word has begun, be it an empty one in quotes.
  std::vector<Word> words_;
};

}  // namespace

std::vector<Word> split_shell_words(std::string_view line) {
  return Lexer(line).split();
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

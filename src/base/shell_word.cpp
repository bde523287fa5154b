// SPDX-License-Identifier: Apache-2.0
#include "base/shell_word.h"

#include <algorithm>

namespace headroom {
namespace {

using Kind = ShellPart::Kind;

bool is_name_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Past the quote that closes the one at `at`.
std::size_t skip_single_quotes(std::string_view text, std::size_t at) {
  const std::size_t close = text.find('\'', at + 1);
  return close == std::string_view::npos ? text.size() : close + 1;
}

// Walks over nested brackets and quotes without recursion: hostile text nests as deep as it likes.
class Nesting {
 public:
  Nesting(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // From an opening bracket or backquote past the one that closes it.
  std::size_t skip(bool in_double_quotes) {
    open(text_[at_], in_double_quotes);
    while (at_ < text_.size() && !open_.empty()) step();
    return std::min(at_, text_.size());
  }

 private:
  struct Level {
    char close;
    bool in_double_quotes;
  };

  void open(char bracket, bool in_double_quotes) {
    const char close = bracket == '(' ? ')' : bracket == '{' ? '}' : bracket;
    open_.push_back({close, close == '"' || (close == '}' && in_double_quotes)});
    ++at_;
  }

  void step() {
    const char c = text_[at_];
    const Level level = open_.back();
    const bool nests = level.close != '`';
    const bool has_next = at_ + 1 < text_.size();
    if (c == '\\') {
      at_ += 2;
    } else if (c == level.close) {
      open_.pop_back();
      ++at_;
    } else if (nests && c == '\'' && !level.in_double_quotes) {
      at_ = skip_single_quotes(text_, at_);
    } else if (nests && (c == '"' || c == '`' || (c == '(' && level.close == ')'))) {
      open(c, level.in_double_quotes);
    } else if (nests && c == '$' && has_next && (text_[at_ + 1] == '(' || text_[at_ + 1] == '{')) {
      ++at_;
      open(text_[at_], level.in_double_quotes);
    } else {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<Level> open_;
};

// From a "$" or a backquote past what it expands to; a "$" that begins nothing is one byte.
std::size_t skip_expansion(std::string_view text, std::size_t at, bool in_double_quotes) {
  if (text[at] == '`') return Nesting(text, at).skip(in_double_quotes);
  if (++at == text.size()) return at;
  const char c = text[at];
  if (c == '{' || c == '(') return Nesting(text, at).skip(in_double_quotes);
  if (std::string_view("@*#?-$!").find(c) != std::string_view::npos) return at + 1;
  while (at < text.size() && is_name_letter(text[at])) ++at;
  return at;
}

bool ends_word(char c, ShellRules rules) {
  return std::string_view(" \t\r\n;&|<>()").find(c) != std::string_view::npos ||
         (c == '`' && !rules.expansions);
}

class WordReader {
 public:
  WordReader(std::string_view text, std::size_t at, ShellRules rules)
      : text_(text), begin_(at), at_(at), rules_(rules) {}

  // To the end of the text, or of the word if `may_end`.
  ShellWordSpan read(bool may_end) {
    while (at_ < text_.size() && !(may_end && ends_here())) take();
    return {begin_, at_, std::move(parts_)};
  }

 private:
  bool begins_array() const {
    return rules_.arrays && text_[at_] == '(' && at_ > begin_ && text_[at_ - 1] == '=';
  }

  // Continued lines belong to a word only if it goes on behind them.
  bool ends_here() const {
    const std::size_t next = skip_continued_lines(text_, at_);
    if (next == text_.size()) return next > at_;
    return ends_word(text_[next], rules_) && !(next == at_ && begins_array());
  }

  void take() {
    const char c = text_[at_];
    const std::size_t next = skip_continued_lines(text_, at_);
    if (next > at_) {
      add(Kind::syntax, next);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      add(Kind::syntax, at_ + 1);
      add(Kind::literal, at_ + 1);
    } else if (c == '\'') {
      take_single_quotes();
    } else if (c == '"') {
      take_double_quotes();
    } else if (begins_array()) {
      add(Kind::expansion, Nesting(text_, at_).skip(false));
    } else {
      take_plain();
    }
  }

  // A byte, or an expansion.
  void take_plain() {
    const char c = text_[at_];
    const bool expands = rules_.expansions && (c == '$' || c == '`');
    const std::size_t end = expands ? skip_expansion(text_, at_, quoted_) : at_ + 1;
    add(expands && end > at_ + 1 ? Kind::expansion : Kind::literal, end);
  }

  void take_single_quotes() {
    const std::size_t end = skip_single_quotes(text_, at_);
    const bool closed = end > at_ + 1 && text_[end - 1] == '\'';
    add(Kind::syntax, at_ + 1);
    quoted_ = true;
    if (const std::size_t close = closed ? end - 1 : end; close > at_) add(Kind::literal, close);
    quoted_ = false;
    if (closed) add(Kind::syntax, end);
  }

  void take_double_quotes() {
    add(Kind::syntax, at_ + 1);
    quoted_ = true;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_.substr(at_).starts_with("\\\n")) {
        add(Kind::syntax, at_ + 2);
      } else if (text_[at_] == '\\' && is_escaped_in_quotes(at_ + 1)) {
        add(Kind::syntax, at_ + 1);
        add(Kind::literal, at_ + 1);
      } else if (text_[at_] == '\\') {
        add(Kind::literal, at_ + 1);
      } else {
        take_plain();
      }
    }
    quoted_ = false;
    if (at_ < text_.size()) add(Kind::syntax, at_ + 1);
  }

  bool is_escaped_in_quotes(std::size_t at) const {
    if (at >= text_.size()) return false;
    const char c = text_[at];
    return c == '"' || c == '\\' || (rules_.expansions && (c == '$' || c == '`'));
  }

  // Takes the bytes up to `end`; neighbours of one kind are one part.
  void add(Kind kind, std::size_t end) {
    const bool same = !parts_.empty() && parts_.back().kind == kind && kind == Kind::literal &&
                      parts_.back().quoted == quoted_ && parts_.back().end == at_;
    if (same) {
      parts_.back().end = end;
    } else {
      parts_.push_back({kind, at_, end, quoted_});
    }
    at_ = end;
  }

  std::string_view text_;
  std::size_t begin_;
  std::size_t at_;
  ShellRules rules_;
  bool quoted_ = false;
  std::vector<ShellPart> parts_;
};

}  // namespace

std::size_t skip_continued_lines(std::string_view text, std::size_t at) {
  while (true) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("\\\n")) {
      at += 2;
    } else if (rest.starts_with("\\\r\n")) {
      at += 3;
    } else {
      return at;
    }
  }
}

ShellWordSpan read_shell_word(std::string_view text, std::size_t at, ShellRules rules) {
  return WordReader(text, at, rules).read(true);
}

std::vector<ShellPart> split_shell_word(std::string_view word, ShellRules rules) {
  return WordReader(word, 0, rules).read(false).parts;
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/shell_assignments.h"

#include <algorithm>
#include <array>

#include "plan/boot/command_line_words.h"

namespace headroom::plan {
namespace {

constexpr char expansion_begin = '\x01';
constexpr char expansion_end = '\x02';

bool is_name_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::size_t skip_single_quotes(std::string_view text, std::size_t at) {
  const std::size_t close = text.find('\'', at + 1);
  return close == std::string_view::npos ? text.size() : close + 1;
}

std::size_t skip_double_quotes(std::string_view text, std::size_t at);

// From a "$" or a backquote: past what it expands to. A "$" that begins nothing is one byte.
std::size_t skip_expansion(std::string_view text, std::size_t at) {
  if (text[at] == '`') {
    for (++at; at < text.size() && text[at] != '`'; ++at) {
      if (text[at] == '\\') ++at;
    }
    return std::min(at + 1, text.size());
  }
  if (++at == text.size()) return at;
  if (text[at] == '{' || text[at] == '(') {
    const char open = text[at];
    const char close = open == '{' ? '}' : ')';
    for (int depth = 0; at < text.size();) {
      const char c = text[at];
      if (c == '\'' && open == '(') {
        at = skip_single_quotes(text, at);
      } else if (c == '"') {
        at = skip_double_quotes(text, at);
      } else {
        if (c == '\\') ++at;
        if (c == open) ++depth;
        if (c == close) --depth;
        ++at;
        if (depth == 0) break;
      }
    }
    return std::min(at, text.size());
  }
  if (!is_name_letter(text[at])) {
    return std::string_view("@*#?-$!").find(text[at]) == std::string_view::npos ? at : at + 1;
  }
  while (at < text.size() && is_name_letter(text[at])) ++at;
  return at;
}

std::size_t skip_double_quotes(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"';) {
    if (text[at] == '\\') {
      at += 2;
    } else if (text[at] == '$' || text[at] == '`') {
      at = skip_expansion(text, at);
    } else {
      ++at;
    }
  }
  return std::min(at + 1, text.size());
}

// From the first byte of a word past its last.
std::size_t skip_word(std::string_view text, std::size_t at) {
  constexpr std::string_view ends = " \t\r\n;&|<>()";
  while (at < text.size() && ends.find(text[at]) == std::string_view::npos) {
    const char c = text[at];
    if (c == '\\') {
      at = std::min(at + 2, text.size());
    } else if (c == '\'') {
      at = skip_single_quotes(text, at);
    } else if (c == '"') {
      at = skip_double_quotes(text, at);
    } else if (c == '$' || c == '`') {
      at = skip_expansion(text, at);
    } else {
      ++at;
    }
  }
  return at;
}

// Walks over the commands of a file, and keeps the assignments of those that are nothing else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Assignment> scan() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\\' && text_.substr(at_, 2) == "\\\n") {
        at_ += 2;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view("\n;&|<>()").find(c) != std::string_view::npos) {
        take_operator(c);
      } else {
        const std::size_t begin = at_;
        at_ = skip_word(text_, at_);
        take_word(begin);
      }
    }
    finish();
    return std::move(kept_);
  }

 private:
  void take_operator(char c) {
    if (c == '<' || c == '>') {  // A redirection: its file name is no command.
      ++at_;
      is_command_ = true;
      return;
    }
    finish();
    const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c && c != '\n';
    // A pipe's commands run in shells of their own, as those in parentheses do.
    if (c == '(') ++parentheses_;
    if (c == ')' && parentheses_ > 0) --parentheses_;
    if (c == '&' || c == '|') after_condition_ = true;
    if (c == '\n' || c == ';') after_condition_ = false;
    at_ += doubled && c != '(' && c != ')' ? 2 : 1;
  }

  void take_word(std::size_t begin) {
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (is_command_) return;
    if (open_.empty() && !exports_ && opens_or_closes(word)) return;
    if (open_.empty() && (word == "export" || word == "readonly" || word == "declare")) {
      exports_ = true;
      return;
    }
    std::size_t name = 0;
    while (name < word.size() && is_name_letter(word[name])) ++name;
    const bool appends = word.substr(name, 2) == "+=";
    if (name == 0 || (word[0] >= '0' && word[0] <= '9') ||
        (!appends && word.substr(name, 1) != "=")) {
      if (!exports_) is_command_ = true;
      return;
    }
    open_.push_back({std::string(word.substr(0, name)), begin + name + (appends ? 2 : 1), at_,
                     appends, depth_ > 0 || parentheses_ > 0 || after_condition_});
  }

  bool opens_or_closes(std::string_view word) {
    constexpr std::array opening = {"if", "while", "until", "for", "case", "{"};
    constexpr std::array closing = {"fi", "done", "esac", "}"};
    constexpr std::array between = {"then", "else", "elif", "do", "!"};
    if (std::find(opening.begin(), opening.end(), word) != opening.end()) {
      ++depth_;
      is_command_ = word == "for" || word == "case";
      return true;
    }
    if (std::find(closing.begin(), closing.end(), word) != closing.end()) {
      depth_ = std::max(depth_ - 1, 0);
      return true;
    }
    return std::find(between.begin(), between.end(), word) != between.end();
  }

  void finish() {
    if (!is_command_) std::move(open_.begin(), open_.end(), std::back_inserter(kept_));
    open_.clear();
    is_command_ = exports_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Assignment> kept_;
  std::vector<Assignment> open_;  // Of the command that is being read.
  bool is_command_ = false;       // It has a word that is no assignment.
  bool exports_ = false;
  bool after_condition_ = false;
  int depth_ = 0;
  int parentheses_ = 0;
};

std::string escape_for_double_quotes(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == '`') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The same edit of a value that is one pair of quotes; only what is inside changes.
std::optional<std::string> edit_inside(std::string_view raw, const ArgumentChange& change) {
  if (raw.size() < 2) return std::nullopt;
  const char quote = raw[0];
  const bool one_pair = (quote == '\'' && skip_single_quotes(raw, 0) == raw.size()) ||
                        (quote == '"' && skip_double_quotes(raw, 0) == raw.size());
  if (!one_pair || raw.back() != quote) return std::nullopt;
  ArgumentChange inside = change;
  for (std::string& word : inside.set) {
    if (quote == '"') word = escape_for_double_quotes(word);
  }
  return quote + edit_words(raw.substr(1, raw.size() - 2), inside) + quote;
}

}  // namespace

std::vector<Assignment> find_assignments(std::string_view text) {
  return Scanner(text).scan();
}

std::string unquote_value(std::string_view raw) {
  std::string value;
  bool quoted = false;  // In double quotes.
  for (std::size_t at = 0; at < raw.size();) {
    const char c = raw[at];
    if (c == '\'' && !quoted) {
      const std::size_t end = skip_single_quotes(raw, at);
      const bool closed = end > at + 1 && raw[end - 1] == '\'';
      value += raw.substr(at + 1, end - at - (closed ? 2 : 1));
      at = end;
    } else if (c == '"') {
      quoted = !quoted;
      ++at;
    } else if (c == '\\' && at + 1 < raw.size()) {
      const char next = raw[at + 1];
      const bool escapes = !quoted || std::string_view("\"\\$`\n").find(next) != std::string::npos;
      if (!escapes) value += c;
      if (next != '\n') value += next;
      at += 2;
    } else if (c == '$' || c == '`') {
      const std::size_t end = skip_expansion(raw, at);
      const bool alone = end == at + 1;
      if (!alone) value += expansion_begin;
      value += raw.substr(at, end - at);
      if (!alone) value += expansion_end;
      at = end;
    } else {
      value += c;
      ++at;
    }
  }
  return value;
}

bool uses_itself(std::string_view raw, std::string_view name) {
  const std::string value = unquote_value(raw);
  const std::string plain = expansion_begin + ("$" + std::string(name)) + expansion_end;
  const std::string braced = expansion_begin + ("${" + std::string(name));
  if (value.find(plain) != std::string::npos) return true;
  const std::size_t at = value.find(braced);
  return at != std::string::npos && !is_name_letter(value[at + braced.size()]);
}

std::string quote_value(std::string_view value) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] != expansion_begin) {
      quoted += escape_for_double_quotes(value.substr(at, 1));
      continue;
    }
    const std::size_t end = std::min(value.find(expansion_end, at), value.size());
    quoted += value.substr(at + 1, end - at - 1);
    at = end;
  }
  return quoted + '"';
}

std::optional<std::string> edit_value(std::string_view raw, const ArgumentChange& change) {
  const std::string before = unquote_value(raw);
  const std::string wanted = edit_words(before, change);
  if (wanted == before) return std::string(raw);
  auto inside = edit_inside(raw, change);
  if (inside && unquote_value(*inside) == wanted) return inside;
  std::string anew = quote_value(wanted);
  if (unquote_value(anew) == wanted) return anew;
  return std::nullopt;
}

}  // namespace headroom::plan

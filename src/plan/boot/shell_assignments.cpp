// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/shell_assignments.h"

#include <algorithm>
#include <array>

#include "base/shell_lexer.h"
#include "plan/boot/command_line_words.h"

namespace headroom::plan {
namespace {

constexpr char expansion_begin = '\x01';
constexpr char expansion_end = '\x02';

bool is_name_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Walks over the commands of a file, and keeps the assignments of those that are nothing else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Assignment> scan() {
    for (const ShellToken& token : lex_shell(text_)) {
      if (token.kind == ShellToken::Kind::newline) {
        finish();
        after_condition_ = false;
      } else if (token.kind == ShellToken::Kind::redirection) {
        is_command_ = true;  // Its file name is no command.
      } else if (token.kind == ShellToken::Kind::separator) {
        take_separator(text_[token.begin]);
      } else if (token.is_word()) {
        take_word(token.begin, token.end);
      }
    }
    finish();
    return std::move(kept_);
  }

 private:
  void take_separator(char c) {
    finish();
    // A pipe's commands run in shells of their own, as those in parentheses do.
    if (c == '(') ++parentheses_;
    if (c == ')' && parentheses_ > 0) --parentheses_;
    if (c == '&' || c == '|') after_condition_ = true;
    if (c == ';') after_condition_ = false;
  }

  void take_word(std::size_t begin, std::size_t end) {
    const std::string_view word = text_.substr(begin, end - begin);
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
    open_.push_back({std::string(word.substr(0, name)), begin + name + (appends ? 2 : 1), end,
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

bool is_one_pair_of_quotes(std::string_view raw) {
  const std::vector<ShellPart> parts = split_shell_word(raw);
  const auto is_quote = [&](const ShellPart& part) {
    return part.kind == ShellPart::Kind::syntax && !part.quoted &&
           (raw[part.begin] == '"' || raw[part.begin] == '\'');
  };
  return parts.size() >= 2 && is_quote(parts.front()) && is_quote(parts.back()) &&
         std::all_of(parts.begin() + 1, parts.end() - 1,
                     [](const ShellPart& part) { return part.quoted; });
}

// The same edit of a value that is one pair of quotes; only what is inside changes.
std::optional<std::string> edit_inside(std::string_view raw, const ArgumentChange& change) {
  if (!is_one_pair_of_quotes(raw)) return std::nullopt;
  const char quote = raw[0];
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
  for (const ShellPart& part : split_shell_word(raw)) {
    if (part.kind == ShellPart::Kind::syntax) continue;
    const bool expands = part.kind == ShellPart::Kind::expansion;
    if (expands) value += expansion_begin;
    value += raw.substr(part.begin, part.end - part.begin);
    if (expands) value += expansion_end;
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

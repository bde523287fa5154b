// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "support/grub_script.h"

namespace headroom::testing {
namespace {

// A word as written, or the end of a command; `bare` words are the ones that may be keywords.
struct Token {
  GrubWord word;
  bool end = false;
  std::string bare;
};

bool is_name(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z') || letter == '?';
}

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> tokens() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '\n' || letter == ';') {
        tokens_.push_back({{}, true, {}});
        ++at_;
      } else if (letter == ' ' || letter == '\t') {
        ++at_;
      } else if (letter == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        read_word();
      }
    }
    tokens_.push_back({{}, true, {}});
    return std::move(tokens_);
  }

 private:
  void add(const std::string& text) {
    if (word_.empty() || word_.back().variable) word_.push_back({"", false});
    word_.back().text += text;
  }

  void read_variable() {
    ++at_;
    const bool braces = at_ < text_.size() && text_[at_] == '{';
    if (braces) ++at_;
    std::string name;
    while (at_ < text_.size() && is_name(text_[at_])) name += text_[at_++];
    if (braces && at_ < text_.size()) ++at_;
    word_.push_back({name, true});
  }

  void read_quoted(char quote) {
    ++at_;
    add("");
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '$') {
        read_variable();
      } else {
        if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        add(std::string(1, text_[at_++]));
      }
    }
    ++at_;
  }

  void read_word() {
    word_.clear();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::string_view(" \t\n;").find(text_[at_]) == std::string::npos) {
      const char letter = text_[at_];
      if (letter == '\'' || letter == '"') {
        read_quoted(letter);
      } else if (letter == '$') {
        read_variable();
      } else if (letter == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] != '\n') add(std::string(1, text_[at_ + 1]));
        at_ += 2;
      } else {
        add(std::string(1, letter));
        ++at_;
      }
    }
    tokens_.push_back({word_, false, text_.substr(start, at_ - start)});
  }

  const std::string& text_;
  std::size_t at_ = 0;
  GrubWord word_;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<GrubList> parse() {
    GrubList list = parse_list({});
    if (!mistake_.empty()) return Error{Errc::invalid, "GRUB's menu: " + mistake_, ""};
    return list;
  }

 private:
  const Token* peek() const { return at_ < tokens_.size() ? &tokens_[at_] : nullptr; }

  // Commands up to one of the words, which stays.
  GrubList parse_list(const std::vector<std::string>& until) {
    GrubList list;
    while (const Token* token = peek()) {
      if (token->end) {
        ++at_;
        continue;
      }
      for (const std::string& word : until) {
        if (token->bare == word) return list;
      }
      list.push_back(token->bare == "if" ? parse_if() : parse_command());
      if (!mistake_.empty()) return list;
    }
    if (!until.empty()) mistake_ = "\"" + until.front() + "\" is missing";
    return list;
  }

  GrubCommand parse_if() {
    GrubCommand command;
    ++at_;
    while (mistake_.empty()) {
      GrubList condition = parse_list({"then"});
      ++at_;
      GrubList then = parse_list({"fi", "elif", "else"});
      command.branches.emplace_back(std::move(condition), std::move(then));
      const Token* token = peek();
      if (token == nullptr) break;
      const std::string word = token->bare;
      ++at_;
      if (word == "fi") break;
      if (word == "else") {
        command.branches.emplace_back(GrubList{}, parse_list({"fi"}));
        ++at_;
        break;
      }
    }
    return command;
  }

  GrubCommand parse_command() {
    GrubCommand command;
    while (const Token* token = peek()) {
      if (token->end) break;
      ++at_;
      if (token->bare == "!" && command.words.empty()) {
        command.negated = true;
      } else if (token->bare == "{") {
        command.block = parse_list({"}"});
        ++at_;
        break;
      } else {
        command.words.push_back(token->word);
      }
    }
    return command;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::string mistake_;
};

}  // namespace

Result<GrubList> parse_grub_script(const std::string& text) {
  return Parser(Lexer(text).tokens()).parse();
}

}  // namespace headroom::testing

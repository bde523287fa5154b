// SPDX-License-Identifier: Apache-2.0
#include "base/shell_lexer.h"

#include <algorithm>
#include <array>

#include "base/shell_word.h"

namespace headroom {
namespace {

using Kind = ShellToken::Kind;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

class Lexer {
 public:
  Lexer(std::string_view text, ShellRules rules) : text_(text), rules_(rules) {}

  std::vector<ShellToken> run() {
    while (at_ < text_.size()) take();
    return std::move(tokens_);
  }

 private:
  struct HereDocument {
    std::string end;
    bool tabs;  // "<<-" strips them.
  };

  void take() {
    const char c = text_[at_];
    if (c == '\n') {
      add(Kind::newline, at_ + 1);
      take_here_documents();
    } else if (is_blank(c) || skip_continued_lines(text_, at_) > at_) {
      take_blank();
    } else if (c == '#') {
      add(Kind::comment, std::min(text_.find('\n', at_), text_.size()));
    } else if (c == '<' || c == '>') {
      take_redirection();
    } else if (std::string_view(";&|()").find(c) != std::string_view::npos ||
               (c == '`' && !rules_.expansions)) {
      const bool doubled =
          text_.substr(at_ + 1, 1) == text_.substr(at_, 1) && (c == ';' || c == '&' || c == '|');
      add(Kind::separator, at_ + (doubled ? 2 : 1));
      awaits_delimiter_ = false;
    } else {
      take_word();
    }
  }

  void take_blank() {
    std::size_t end = at_;
    while (end < text_.size()) {
      const std::size_t next = is_blank(text_[end]) ? end + 1 : skip_continued_lines(text_, end);
      if (next == end) break;
      end = next;
    }
    add(Kind::blank, end);
  }

  void take_redirection() {
    constexpr std::array<std::string_view, 8> longer = {"<<<", "<<-", "<<", "<&",
                                                        ">&",  "<>",  ">>", ">|"};
    const std::string_view rest = text_.substr(at_);
    std::size_t length = 1;
    for (const std::string_view one : longer) {
      if (rest.starts_with(one)) {
        length = one.size();
        break;
      }
    }
    const std::string_view taken = rest.substr(0, length);
    awaits_delimiter_ = taken == "<<" || taken == "<<-";
    strips_tabs_ = taken == "<<-";
    add(Kind::redirection, at_ + length);
  }

  void take_word() {
    ShellWordSpan word = read_shell_word(text_, at_, rules_);
    ShellToken& token = add(awaits_delimiter_ ? Kind::here_delimiter : Kind::word, word.end);
    for (const ShellPart& part : word.parts) {
      if (part.kind == ShellPart::Kind::syntax) {
        token.quoted = token.quoted || text_[part.begin] == '\'' || text_[part.begin] == '"';
      } else {
        token.text += text_.substr(part.begin, part.end - part.begin);
      }
    }
    token.parts = std::move(word.parts);
    if (awaits_delimiter_) here_.push_back({token.text, strips_tabs_});
    awaits_delimiter_ = false;
  }

  // Those that the line just ended has announced, one after the other.
  void take_here_documents() {
    for (const HereDocument& here : here_) {
      std::size_t at = at_;
      for (bool ended = false; !ended && at < text_.size();) {
        const std::size_t end = std::min(text_.find('\n', at), text_.size());
        std::string_view line = text_.substr(at, end - at);
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (here.tabs && line.starts_with('\t')) line.remove_prefix(1);
        ended = line == here.end;
        at = std::min(end + 1, text_.size());
      }
      if (at > at_) add(Kind::here_document, at);
    }
    here_.clear();
    awaits_delimiter_ = false;
  }

  ShellToken& add(Kind kind, std::size_t end) {
    ShellToken& token = tokens_.emplace_back();
    token.kind = kind;
    token.begin = at_;
    token.end = end;
    token.line = line_;
    const std::string_view bytes = text_.substr(at_, end - at_);
    line_ += static_cast<int>(std::count(bytes.begin(), bytes.end(), '\n'));
    at_ = end;
    return token;
  }

  std::string_view text_;
  ShellRules rules_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool awaits_delimiter_ = false;
  bool strips_tabs_ = false;
  std::vector<HereDocument> here_;
  std::vector<ShellToken> tokens_;
};

}  // namespace

std::vector<ShellToken> lex_shell(std::string_view text, ShellRules rules) {
  return Lexer(text, rules).run();
}

}  // namespace headroom

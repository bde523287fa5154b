// SPDX-License-Identifier: Apache-2.0
#include "plan/settings/shell_scan.h"

#include "base/shell_lexer.h"

namespace headroom::plan {
namespace {

using Kind = ShellToken::Kind;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<ShellLine> run() {
    for (ShellToken& token : lex_shell(text_, {.arrays = true})) take(token);
    end_line(text_.size());
    return std::move(lines_);
  }

 private:
  void take(ShellToken& token) {
    if (begins_line_ && token.kind != Kind::here_document) begin_line(token);
    if (token.kind == Kind::newline) {
      end_line(token.begin);
    } else if (token.kind == Kind::word) {
      last_ = token.text;
      command_.words.push_back({token.begin, token.end, std::move(token.text)});
    } else if (token.kind == Kind::separator) {
      line_.separated = true;
      end_command();
      last_ = std::string(1, text_[token.begin]);
      command_.before = last_;
    } else if (token.kind == Kind::redirection) {
      line_.separated = true;
    }
  }

  void begin_line(const ShellToken& first) {
    begins_line_ = false;
    line_.number = first.line;
    line_.begin = first.begin;
    command_.before = last_;
  }

  void end_command() {
    if (!command_.words.empty()) line_.commands.push_back(std::move(command_));
    command_ = {};
  }

  void end_line(std::size_t end) {
    end_command();
    line_.end = end > line_.begin && text_[end - 1] == '\r' ? end - 1 : end;
    if (!line_.commands.empty()) lines_.push_back(std::move(line_));
    line_ = {};
    begins_line_ = true;
  }

  std::string_view text_;
  bool begins_line_ = true;
  ShellCommand command_;
  ShellLine line_;
  std::string last_;  // The word or separator that was read last.
  std::vector<ShellLine> lines_;
};

}  // namespace

std::vector<ShellLine> scan_shell(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
#include "plan/settings/shell_scan.h"

#include "base/text.h"

namespace headroom::plan {
namespace {

struct HereDocument {
  std::string end;
  bool tabs = false;  // "<<-" strips them.
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<ShellLine> run() {
    begin_line();
    while (at_ < text_.size()) step();
    end_line();
    return std::move(lines_);
  }

 private:
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      end_line();
      ++at_;
      ++number_;
      skip_here_documents();
      begin_line();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      ++at_;
    } else if (starts_with("\\\n") || starts_with("\\\r\n")) {
      end_word();
      at_ += text_[at_ + 1] == '\r' ? 3 : 2;
      ++number_;
    } else if (c == '#' && !open_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '<' || c == '>') {
      take_redirection();
    } else if (is_separator(c)) {
      end_command(c);
    } else {
      take_part(word_.text);
    }
  }

  bool is_separator(char c) const {
    if (c == '(' && open_ && word_.text.ends_with('=')) return false;  // An array.
    return c == ';' || c == '&' || c == '|' || c == '(' || c == ')';
  }

  // One character, one quoted string or one substitution of a word.
  void take_part(std::string& into) {
    if (!open_) {
      open_ = true;
      word_.begin = at_;
    }
    const char c = text_[at_];
    if (c == '\\') {
      ++at_;
      if (at_ < text_.size()) into += take_char();
    } else if (c == '\'' || c == '"') {
      take_quoted(into);
    } else if (c == '`') {
      take_until('`', into);
    } else if (starts_with("${")) {
      take_nested('{', '}', into);
    } else if (starts_with("$(") || c == '(') {
      take_nested('(', ')', into);
    } else {
      into += take_char();
    }
  }

  char take_char() {
    if (text_[at_] == '\n') ++number_;
    return text_[at_++];
  }

  void take_quoted(std::string& into) {
    const char quote = take_char();
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[at_ + 1];
        const bool escaped = next == '"' || next == '\\' || next == '$' || next == '`';
        if (escaped) ++at_;
        into += take_char();
        if (!escaped) into += take_char();
      } else if (quote == '"' && starts_with("$(")) {
        take_nested('(', ')', into);
      } else {
        into += take_char();
      }
    }
    if (at_ < text_.size()) ++at_;
  }

  void take_until(char end, std::string& into) {
    into += take_char();
    while (at_ < text_.size() && text_[at_] != end) into += take_char();
    if (at_ < text_.size()) into += take_char();
  }

  // With the brackets, up to the one that closes it; brackets in quotes do not count.
  void take_nested(char open, char close, std::string& into) {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        std::string quoted;
        const std::size_t begin = at_;
        take_quoted(quoted);
        into += text_.substr(begin, at_ - begin);
        continue;
      }
      if (c == open) ++depth;
      if (c == close) --depth;
      into += take_char();
      if (c == close && depth == 0) return;
    }
  }

  void take_redirection() {
    end_word();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>')) ++at_;
    const bool document = text_.substr(begin, at_ - begin) == "<<";
    const bool tabs = document && at_ < text_.size() && text_[at_] == '-';
    if (tabs) ++at_;
    line_.separated = true;
    if (at_ < text_.size() && text_[at_] == '&') ++at_;  // "2>&1" ends no command.
    if (!document) return;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    HereDocument here{"", tabs};
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n;&|()<>").find(text_[at_]) == std::string_view::npos) {
      take_part(here.end);
    }
    open_ = false;
    word_ = {};
    here_.push_back(std::move(here));
  }

  void skip_here_documents() {
    for (const HereDocument& here : here_) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        if (line.ends_with('\r')) line.remove_suffix(1);
        at_ = std::min(end + 1, text_.size());
        ++number_;
        while (here.tabs && line.starts_with('\t')) line.remove_prefix(1);
        if (line == here.end) break;
      }
    }
    here_.clear();
  }

  void begin_line() {
    line_ = {};
    line_.number = number_;
    line_.begin = at_;
    command_ = {};
    command_.before = last_;
  }

  void end_word() {
    if (!open_) return;
    word_.end = at_;
    last_ = word_.text;
    command_.words.push_back(std::move(word_));
    word_ = {};
    open_ = false;
  }

  void end_command(char separator) {
    end_word();
    line_.separated = true;
    if (!command_.words.empty()) line_.commands.push_back(std::move(command_));
    last_ = std::string(1, separator);
    command_ = {};
    command_.before = last_;
    ++at_;
  }

  void end_line() {
    end_word();
    if (!command_.words.empty()) line_.commands.push_back(std::move(command_));
    line_.end = at_ > line_.begin && text_[at_ - 1] == '\r' ? at_ - 1 : at_;
    if (!line_.commands.empty()) lines_.push_back(std::move(line_));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int number_ = 1;
  bool open_ = false;
  ShellWord word_;
  ShellCommand command_;
  ShellLine line_;
  std::string last_;
  std::vector<HereDocument> here_;
  std::vector<ShellLine> lines_;
};

}  // namespace

std::vector<ShellLine> scan_shell(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace headroom::plan

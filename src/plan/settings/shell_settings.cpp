// SPDX-License-Identifier: Apache-2.0
// Settings in scripts of sh, bash, zsh and fish: assignments, export and its kin, fish's set,
// assignments in front of a command or in an alias, and options of container engines.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/settings/setting_lines.h"
#include "plan/settings/shell_scan.h"

namespace headroom::plan {
namespace {

using facts::assigned_name_length;
using facts::Form;

// A command follows them on the same line.
constexpr std::array keywords = {"then", "else", "do",  "if", "elif",  "while", "until", "!",
                                 "{",    "time", "and", "or", "begin", "exec",  "nohup", "command"};
constexpr std::array exporters = {"export", "declare", "typeset", "readonly"};
constexpr std::array engines = {"docker", "podman", "nerdctl"};
// What stands before a block's first command: a block may not become empty.
constexpr std::array openers = {"then", "else", "do", "{", "(", ")", "in", "&", "|", ";", "!"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Finder {
 public:
  Finder(std::string_view text, bool fish) : text_(text), fish_(fish) {}

  SettingLines run() {
    const std::vector<ShellLine> lines = scan_shell(text_);
    for (const ShellLine& line : lines) {
      line_ = &line;
      for (const ShellCommand& command : line.commands) {
        command_ = &command;
        statement_.reset();
        read();
      }
    }
    for (SettingPlace& place : found_.places) {
      place.exported = place.exported || exported_.count(place.name) != 0;
    }
    return std::move(found_);
  }

 private:
  const std::vector<ShellWord>& words() const { return command_->words; }
  std::string_view word(std::size_t i) const { return words()[i].text; }

  void read() {
    std::size_t first = 0;
    while (first < words().size() && contains(keywords, word(first))) ++first;
    std::size_t at = first;
    while (at < words().size() && assigned_name_length(word(at)) != 0) ++at;
    const bool alone = at == words().size();
    if (alone && at > first) begin_statement(first, at - first);
    for (std::size_t i = first; i < at; ++i) add_assignment(i, !alone || all_exported_);
    if (alone) return;
    const std::string_view name = word(at);
    if (name == "env" || name == "sudo") read_wrapper(at + 1);
    if (name == "set" && fish_) read_fish(at);
    if (name == "set" && !fish_) read_set(at + 1);
    if (contains(exporters, name)) read_export(at);
    if (name == "alias") read_alias(at + 1);
    if (contains(engines, name)) read_options(at + 1);
  }

  // env NAME=VALUE program
  void read_wrapper(std::size_t at) {
    while (at < words().size() && word(at).starts_with('-')) ++at;
    std::size_t end = at;
    while (end < words().size() && assigned_name_length(word(end)) != 0) ++end;
    if (end == words().size()) return;
    for (std::size_t i = at; i < end; ++i) add_assignment(i, true);
    if (contains(engines, word(end))) read_options(end + 1);
  }

  void read_export(std::size_t at) {
    bool exports = word(at) == "export";
    std::size_t from = at + 1;
    for (; from < words().size() && word(from).starts_with('-'); ++from) {
      exports = exports || word(from).find('x') != std::string_view::npos;
    }
    begin_statement(at, words().size() - from);
    for (std::size_t i = from; i < words().size(); ++i) {
      if (assigned_name_length(word(i)) != 0) {
        add_assignment(i, exports);
      } else if (exports) {
        exported_.insert(std::string(word(i)));
      }
    }
  }

  // set -gx NAME VALUE
  void read_fish(std::size_t at) {
    bool exports = false;
    std::size_t from = at + 1;
    for (; from < words().size() && word(from).starts_with('-'); ++from) {
      const std::string_view flag = word(from);
      const bool is_long = flag.starts_with("--");
      exports = exports || (is_long ? flag == "--export" : flag.find('x') != flag.npos);
      if (flag == "--erase" || (!is_long && flag.find('e') != flag.npos)) return;
    }
    if (from + 2 != words().size()) return;
    const ShellWord& name = words()[from];
    const bool plain = name.end - name.begin == name.text.size();
    if (!plain || assigned_name_length(name.text + "=") == 0) return;
    begin_statement(at, 1);
    add_place(name.text, std::string(word(from + 1)), name.begin, {name.begin, name.begin, ""});
    found_.places.back().exported = exports;
  }

  void read_set(std::size_t from) {
    for (std::size_t i = from; i < words().size(); ++i) {
      if (word(i) == "-a" || word(i) == "allexport") all_exported_ = word(from) != "+o";
      if (word(i) == "+a") all_exported_ = false;
    }
  }

  // alias run='NAME=VALUE program': values without quotes or blanks only.
  void read_alias(std::size_t from) {
    for (std::size_t i = from; i < words().size(); ++i) {
      const ShellWord& alias = words()[i];
      std::size_t at = text_.find('=', alias.begin) + 1;
      while (at < alias.end) {
        at = std::min(text_.find_first_not_of(" '\"", at), alias.end);
        const std::size_t end = std::min(text_.find_first_of(" '\"", at), alias.end);
        const std::string_view part = text_.substr(at, end - at);
        const std::size_t length = assigned_name_length(part);
        const bool plain = part.find_first_of("\\`$;&|\n") == std::string_view::npos;
        const std::size_t next = std::min(text_.find_first_not_of(' ', end), alias.end);
        if (length != 0 && plain && next > end && next < alias.end) {
          add_place(std::string(part.substr(0, length)), std::string(part.substr(length + 1)), at,
                    {at, next, ""});
        }
        at = std::max(end, at + 1);
      }
    }
  }

  // docker run -e NAME=VALUE
  void read_options(std::size_t from) {
    for (std::size_t i = from; i < words().size(); ++i) {
      const std::size_t first = i;
      std::size_t skip = 0;
      if ((word(i) == "-e" || word(i) == "--env") && i + 1 < words().size()) {
        ++i;
      } else if (word(i).starts_with("--env=")) {
        skip = 6;
      } else {
        continue;
      }
      const std::string_view text = word(i).substr(skip);
      const std::size_t length = assigned_name_length(text);
      const std::size_t name = text_.find(text.substr(0, length), words()[i].begin);
      if (length == 0 || name >= words()[i].end) continue;
      add_place(std::string(text.substr(0, length)), std::string(text.substr(length + 1)), name,
                cut_of(first, i));
      found_.places.back().form = Form::option;
    }
  }

  // ---- places and their statements ----

  void add_assignment(std::size_t i, bool exported) {
    const ShellWord& one = words()[i];
    const std::size_t length = assigned_name_length(one.text);
    // A name in quotes, or with a backslash in it, is not there as it is.
    if (text_.substr(one.begin, length) != one.text.substr(0, length)) return;
    add_place(one.text.substr(0, length), one.text.substr(length + 1), one.begin, cut_of(i, i));
    found_.places.back().exported = exported;
  }

  void add_place(std::string name, std::string value, std::size_t at, Cut cut) {
    if (!statement_) begin_statement(0, 0);  // The command stays, whatever is taken from it.
    SettingPlace place;
    place.name = std::move(name);
    place.value = std::move(value);
    place.line = line_->number;
    place.form = Form::shell;
    place.name_begin = at;
    place.cut = std::move(cut);
    place.statement = *statement_;
    found_.places.push_back(std::move(place));
  }

  void begin_statement(std::size_t first, std::size_t members) {
    SettingStatement statement;
    statement.line_begin = line_->begin;
    statement.members = members;
    const std::size_t begin = words()[first].begin;
    const std::string_view indent = text_.substr(line_->begin, begin - line_->begin);
    const std::string_view whole = text_.substr(begin, line_->end - begin);
    const bool alone = line_->commands.size() == 1 && !line_->separated &&
                       indent.find_first_not_of(" \t") == std::string_view::npos;
    const auto shown = as_one_line(whole);
    if (alone && shown) {
      const std::string_view no_op = contains(openers, command_->before) ? ": " : "";
      statement.shows_itself = true;
      statement.when_empty = {begin, line_->end,
                              std::string(no_op) + std::string(taken_out_mark()) + ": " + *shown};
    } else {
      statement.when_empty = {begin, words().back().end, ":"};
    }
    statement_ = found_.statements.size();
    found_.statements.push_back(std::move(statement));
  }

  // Continued lines joined; nothing for a string over several lines.
  static std::optional<std::string> as_one_line(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::string_view rest = text.substr(at);
      if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
        at = text.find('\n', at);
        while (at + 1 < text.size() && (text[at + 1] == ' ' || text[at + 1] == '\t')) ++at;
        continue;
      }
      if (text[at] == '\n') return std::nullopt;
      line += text[at];
    }
    return line;
  }

  // Words `first` to `last` and the blanks up to the next word; the end of a continued line stays.
  Cut cut_of(std::size_t first, std::size_t last) const {
    const auto blank = [&](std::size_t begin, std::size_t end) {
      return text_.substr(begin, end - begin).find_first_not_of(" \t") == std::string_view::npos;
    };
    const std::size_t begin = words()[first].begin;
    const std::size_t end = words()[last].end;
    if (last + 1 < words().size() && blank(end, words()[last + 1].begin)) {
      return {begin, words()[last + 1].begin, ""};
    }
    if (first > 0 && blank(words()[first - 1].end, begin)) return {words()[first - 1].end, end, ""};
    return {begin, end, ""};
  }

  std::string_view text_;
  bool fish_;
  SettingLines found_;
  std::set<std::string> exported_;
  bool all_exported_ = false;
  const ShellLine* line_ = nullptr;
  const ShellCommand* command_ = nullptr;
  std::optional<std::size_t> statement_;
};

}  // namespace

SettingLines find_in_shell(std::string_view text, bool fish) {
  return Finder(text, fish).run();
}

}  // namespace headroom::plan

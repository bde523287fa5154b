// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "command_line/completions.h"
#include "command_line/shell_files.h"

namespace headroom::command_line {
namespace {

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  for (std::size_t begin = 0;;) {
    const std::size_t place = text.find(from, begin);
    replaced += text.substr(begin, place - begin);
    if (place == std::string_view::npos) return replaced;
    replaced += to;
    begin = place + from.size();
  }
}

class Script {
 public:
  explicit Script(std::string function) : function_(std::move(function)) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void add_reply(const Value& value) {
    const std::string_view kind = value.kind == ValueKind::file     ? "file"
                                  : value.kind == ValueKind::folder ? "folder"
                                  : value.kind == ValueKind::words  ? "words"
                                                                    : "";
    if (kind.empty()) return add("COMPREPLY=()");
    add("{}_reply \"$word\" {} {}", function_, kind, quote_single(join(value.words, " ")));
  }

  void add_words(const std::vector<std::string>& words) {
    add_reply({"", ValueKind::words, words, false});
  }

  std::string take() { return std::move(text_); }

 private:
  std::string function_;
  std::string text_;
};

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

void add_values(Script& script, const Command& command, std::string_view indent) {
  const auto has_value = [](const Option& option) { return option.value.kind != ValueKind::none; };
  if (std::none_of(command.options.begin(), command.options.end(), has_value)) return;
  script.add("{}case $before in\n", indent);
  for (const Option& option : command.options) {
    if (!has_value(option)) continue;
    script.add("{}  {}) ", indent, join(option.names, " | "));
    script.add_reply(option.value);
    script.add("; return ;;\n");
  }
  script.add("{}esac\n", indent);
}

// What stands behind an option; else options where a dash was typed; else what the first argument
// may be.
void add_command(Script& script, const Command& command, std::string_view indent) {
  add_values(script, command, indent);
  script.add("{}if [[ $word == -* ]]; then ", indent);
  script.add_words(option_names(command));
  script.add("; return; fi\n{}", indent);
  if (!command.commands.empty()) {
    std::vector<std::string> words;
    for (const Command& inner : command.commands) words.push_back(last_word(inner));
    script.add_words(words);
  } else if (command.arguments.empty() || command.arguments.front().value.name == command_place) {
    script.add_words(option_names(command));
  } else {
    script.add_reply(command.arguments.front().value);
  }
  script.add("\n");
}

void add_commands(Script& script, const Command& program) {
  script.add("  case $command in\n");
  for (const Command& command : program.commands) {
    script.add("    {})\n", last_word(command));
    add_command(script, command, "      ");
    script.add("      ;;\n");
  }
  script.add("    \"\")\n");
  add_command(script, program, "      ");
  script.add("      ;;\n  esac\n");
}

}  // namespace

std::string to_bash_completion(const Command& program) {
  const std::string function = function_name(program);
  const std::string begin = replace_all(bash_completion_sh, "FUNCTION", function);
  Script script(function);
  script.add("{}\n", replace_all(begin, "PROGRAM", program.name));
  script.add("{}_candidates() {{\n  local command=$1 word=$2 before=$3\n  COMPREPLY=()\n",
             function);
  if (program.commands.empty()) {
    add_command(script, program, "  ");
  } else {
    add_commands(script, program);
  }
  script.add("}}\n");
  return script.take();
}

}  // namespace headroom::command_line

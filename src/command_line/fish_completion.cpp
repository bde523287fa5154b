// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "base/text.h"
#include "command_line/completions.h"

namespace headroom::command_line {
namespace {

// fish knows two escapes in single quotes.
std::string quote_fish(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

// What may stand there, as options of `complete`.
std::string to_choice(const Value& value) {
  const std::string words = join(value.words, " ");
  const std::string list = words.empty() ? "" : " -a " + quote_fish(words);
  switch (value.kind) {
    case ValueKind::file:
      return " -F" + list;
    case ValueKind::folder:
      return " -f -a " + quote_fish("(__fish_complete_directories) " + words);
    default:
      return " -f" + list;
  }
}

void add_option(std::string& script, const std::string& begin, const Option& option) {
  script += begin;
  for (const std::string& name : option.names) {
    if (name.starts_with("--")) {
      script += " -l " + name.substr(2);
    } else {
      script += " -s " + name.substr(1);
    }
  }
  if (option.value.kind != ValueKind::none) script += " -r" + to_choice(option.value);
  script += " -d " + quote_fish(option.help) + "\n";
}

void add_command(std::string& script, const std::string& begin, const Command& command) {
  for (const Option& option : command.options) add_option(script, begin, option);
  for (const Argument& argument : command.arguments) {
    if (argument.value.name != command_place) script += begin + to_choice(argument.value) + "\n";
  }
}

// Behind "--" every word is the other command's.
constexpr std::string_view behind =
    "complete -c {0} -n {1} -a '(__fish_complete_subcommand --fcs-skip=3)'\n";

}  // namespace

std::string to_fish_completion(const Command& program) {
  const std::string& name = program.name;
  std::string script = fmt::format(
      "# fish completion for {}, written by the program from its own command line.\n\n"
      "complete -c {} -f\n",
      name, name);
  const std::string begin = "complete -c " + name;
  if (program.commands.empty()) {
    add_command(script, begin, program);
    return script;
  }
  add_command(script, begin + " -n __fish_use_subcommand", program);
  for (const Command& command : program.commands) {
    script += fmt::format("{} -n __fish_use_subcommand -f -a {} -d {}\n", begin, last_word(command),
                          quote_fish(command.about));
  }
  for (const Command& command : program.commands) {
    const std::string seen =
        quote_fish(fmt::format("__fish_seen_subcommand_from {}", last_word(command)));
    add_command(script, begin + " -n " + seen, command);
    if (command.runs_command)
      fmt::format_to(std::back_inserter(script), behind, name,
                     quote_fish(fmt::format("__fish_seen_subcommand_from {}; and contains -- -- "
                                            "(commandline -opc)",
                                            last_word(command))));
  }
  return script;
}

}  // namespace headroom::command_line

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "command_line/completions.h"

namespace headroom::command_line {
namespace {

// What means something to _arguments and _describe.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (std::string_view("\\[]:").find(letter) != std::string_view::npos) escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

// ":MESSAGE:ACTION" of an optspec.
std::string to_action(const Value& value) {
  const std::string words = join(value.words, " ");
  std::string action = " ";  // A blank alone: a message, and nothing to choose from.
  if (value.kind == ValueKind::words) action = "(" + words + ")";
  if (value.kind == ValueKind::folder) action = "_files -/";
  if (value.kind == ValueKind::file) action = "_files";
  if (value.kind == ValueKind::file && !words.empty())
    action = fmt::format("{{_alternative \"words:word:({})\" \"files:file:_files\"}}", words);
  return ":" + escape(value.name) + ":" + action;
}

void add_option(std::vector<std::string>& specs, const Option& option) {
  const bool has_value = option.value.kind != ValueKind::none;
  const std::string rest =
      "[" + escape(option.help) + "]" + (has_value ? to_action(option.value) : "");
  // One spelling excludes the others, unless the option may be given several times.
  const std::string before = option.repeats            ? "*"
                             : option.names.size() > 1 ? "(" + join(option.names, " ") + ")"
                                                       : "";
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    const std::string_view sign = !has_value ? "" : is_long ? "=" : "+";
    specs.push_back(quote_single(before + name + std::string(sign) + rest));
  }
}

std::vector<std::string> to_specs(const Command& command) {
  std::vector<std::string> specs;
  for (const Option& option : command.options) add_option(specs, option);
  for (const Argument& argument : command.arguments) {
    if (argument.value.name == command_place) continue;
    const std::string place = argument.repeats ? "*" : argument.is_required ? "" : ":";
    specs.push_back(quote_single(place + to_action(argument.value)));
  }
  return specs;
}

std::string to_arguments(const Command& command, std::string_view indent) {
  const std::string separator = " \\\n" + std::string(indent) + "  ";
  return fmt::format("{}_arguments -s{}{}\n", indent, separator,
                     join(to_specs(command), separator));
}

// Of a command that runs another one: behind "--" that one is completed as if it stood alone.
constexpr std::string_view behind = R"({0}local dashes=${{words[(i)--]}}
{0}if ((dashes < CURRENT)); then
{0}  shift dashes words
{0}  ((CURRENT -= dashes))
{0}  _normal
{0}  return
{0}fi
)";

// Not called `commands`: zsh knows its programs by that name.
void add_commands(std::string& script, const Command& program) {
  auto out = std::back_inserter(script);
  fmt::format_to(out, "  local -a own_commands=(\n");
  for (const Command& command : program.commands)
    fmt::format_to(out, "    {}\n", quote_single(last_word(command) + ":" + escape(command.about)));
  fmt::format_to(out, "  )\n");
}

}  // namespace

std::string to_zsh_completion(const Command& program) {
  const std::string function = function_name(program);
  std::string script = fmt::format(
      "#compdef {}\n# zsh completion for {}, written by the program from its own command line.\n\n"
      "{}() {{\n",
      program.name, program.name, function);
  auto out = std::back_inserter(script);
  if (program.commands.empty()) {
    script += to_arguments(program, "  ");
  } else {
    add_commands(script, program);
    fmt::format_to(out,
                   "  local context curcontext=$curcontext state line\n"
                   "  typeset -A opt_args\n"
                   "  _arguments -C \\\n    {} \\\n    '1: :->command' '*:: :->rest'\n"
                   "  case $state in\n"
                   "    command) _describe command own_commands; return ;;\n"
                   "    rest) ;;\n"
                   "    *) return ;;\n"
                   "  esac\n"
                   "  curcontext=${{curcontext%:*}}-$words[1]:\n"
                   "  case $words[1] in\n",
                   join(to_specs(program), " \\\n    "));
    for (const Command& command : program.commands) {
      fmt::format_to(out, "    {})\n", last_word(command));
      if (command.runs_command) fmt::format_to(out, behind, "      ");
      script += to_arguments(command, "      ");
      fmt::format_to(out, "      ;;\n");
    }
    fmt::format_to(out, "  esac\n");
  }
  fmt::format_to(out, "}}\n\n{} \"$@\"\n", function);
  return script;
}

}  // namespace headroom::command_line

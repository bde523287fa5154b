// SPDX-License-Identifier: Apache-2.0
#include "command_line/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "report/style.h"

namespace headroom::command_line {
namespace {

constexpr std::size_t widest_name = 26;  // A longer one has its text on the next line.

std::string own_name(const Command& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string to_place(const Argument& argument) {
  std::string place = argument.name + (argument.repeats ? "..." : "");
  if (argument.value.name == command_place) place = "-- " + place;
  return argument.is_required ? place : "[" + place + "]";
}

class Help {
 public:
  explicit Help(std::size_t width) : width_(width) {}

  void add_heading(const std::string& heading) {
    fmt::format_to(std::back_inserter(text_), "\n{}:\n", heading);
  }

  void add_line(const std::string& name, const std::string& meaning) {
    std::string begin = "  " + name;
    const std::size_t column = widest_name + 2;
    if (report::display_width(begin) + 2 > column) {
      text_ += begin + "\n";
      begin.clear();
    }
    begin.append(column - std::min(column, report::display_width(begin)), ' ');
    text_ += report::fold(meaning, begin, width_);
  }

  void add_meaning(const std::string& meaning) { text_ += report::fold(meaning, "      ", width_); }

  void add_paragraph(const std::string& paragraph) {
    text_ += "\n" + report::fold(paragraph, "", width_);
  }

  void add_line(const std::string& line) { text_ += line + "\n"; }

  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  std::string text_;
};

void add_options(Help& help, const Command& command) {
  std::string group;
  for (const Option& option : command.options) {
    if (option.group != group) help.add_heading(option.group);
    group = option.group;
    help.add_line(to_names(option), option.help);
  }
}

}  // namespace

std::string to_usage(const Command& command) {
  std::string usage = command.name;
  if (!command.options.empty()) usage += " [OPTION]...";
  if (!command.commands.empty()) usage += " COMMAND";
  for (const Argument& argument : command.arguments) usage += " " + to_place(argument);
  return usage;
}

std::string to_names(const Option& option) {
  std::string names = join(option.names, ", ");
  if (option.value.kind != ValueKind::none) names += " " + option.value.name;
  return names;
}

std::string to_help(const Command& command, std::size_t width) {
  Help help(width);
  help.add_line(report::fold(command.about + ".", "", width));
  help.add_line("Usage: " + to_usage(command));
  if (!command.commands.empty()) help.add_heading("Commands");
  for (const Command& inner : command.commands) help.add_line(own_name(inner), inner.about);
  if (!command.arguments.empty()) help.add_heading("Arguments");
  for (const Argument& argument : command.arguments) help.add_line(argument.name, argument.help);
  add_options(help, command);
  if (!command.examples.empty()) help.add_heading("Examples");
  for (const Example& example : command.examples) {
    help.add_line("  " + example.command);
    if (!example.meaning.empty()) help.add_meaning(example.meaning);
  }
  for (const std::string& note : command.notes) help.add_paragraph(note);
  if (!command.exit_codes.empty()) help.add_paragraph("Exit: " + command.exit_codes);
  return help.take();
}

}  // namespace headroom::command_line

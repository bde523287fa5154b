// SPDX-License-Identifier: Apache-2.0
#include "command_line/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"
#include "command_line/roff.h"

namespace headroom::command_line {
namespace {

class Page {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void add_section(std::string_view heading) { add(".SH {}", escape_roff(heading)); }
  void add_text(std::string_view text) { text_ += to_paragraph(text); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string to_place(const Argument& argument) {
  const std::string place = italic(argument.name) + (argument.repeats ? "..." : "");
  const bool is_command = argument.value.name == command_place;
  return fmt::format("{}{}{}{}", argument.is_required ? "" : "[", is_command ? "\\-\\- " : "",
                     place, argument.is_required ? "" : "]");
}

void add_synopsis(Page& page, const Command& command) {
  page.add_section("SYNOPSIS");
  std::string line = bold(command.name);
  if (!command.options.empty()) line += " [" + italic("OPTION") + "]...";
  if (!command.commands.empty()) line += " " + italic("COMMAND");
  for (const Argument& argument : command.arguments) line += " " + to_place(argument);
  page.add("{}", line);
}

// What stands behind an option; a word where the list of all values is too long for a heading.
std::string to_value(const Option& option) {
  constexpr std::size_t longest = 32;
  return option.value.name.size() <= longest ? option.value.name : "VALUE";
}

std::string to_term(const Option& option) {
  std::vector<std::string> names;
  names.reserve(option.names.size());
  for (const std::string& name : option.names) names.push_back(bold(name));
  std::string term = join(names, ", ");
  if (option.value.kind != ValueKind::none) term += " " + italic(to_value(option));
  return term;
}

std::string to_meaning(const Option& option) {
  if (to_value(option) == option.value.name) return option.help;
  return fmt::format("{}. One of {}.", option.help, join(option.value.words, ", "));
}

void add_term(Page& page, const std::string& term, std::string_view meaning) {
  page.add(".TP\n{}", term);
  page.add_text(meaning);
}

void add_options(Page& page, const Command& command) {
  if (command.options.empty()) return;
  page.add_section("OPTIONS");
  std::string group = command.options.front().group;
  for (const Option& option : command.options) {
    if (option.group != group) page.add(".SS {}", escape_roff(option.group));
    group = option.group;
    add_term(page, to_term(option), to_meaning(option));
  }
}

void add_examples(Page& page, const Command& command) {
  if (command.examples.empty()) return;
  page.add_section("EXAMPLES");
  for (const Example& example : command.examples) {
    if (&example != &command.examples.front()) page.add(".PP");
    page.add(".nf\n{}\n.fi\n.RS", bold(example.command));
    page.add_text(example.meaning);
    page.add(".RE");
  }
}

// The page of the program and those of its other commands.
void add_see_also(Page& page, const Command& command, const Command& program) {
  std::vector<std::string> others;
  if (page_name(command) != page_name(program)) others.push_back(page_name(program));
  for (const Command& other : program.commands) {
    if (page_name(other) != page_name(command)) others.push_back(page_name(other));
  }
  if (others.empty()) return;
  page.add_section("SEE ALSO");
  for (const std::string& other : others)
    page.add(".BR {} (1){}", escape_roff(other), &other == &others.back() ? "" : " ,");
}

}  // namespace

std::string page_name(const Command& command) {
  std::string name = command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string to_man_page(const Command& command, const Command& program, const Edition& edition) {
  Page page;
  const std::string name = page_name(command);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  page.add(".\\\" Written by the program from its own command line.");
  page.add(".TH {} 1 {} \"headroom {}\" \"headroom manual\"", escape_roff(title), edition.date,
           escape_roff(edition.version));
  page.add_section("NAME");
  page.add_text(name + " - " + command.about);
  add_synopsis(page, command);
  page.add_section("DESCRIPTION");
  page.add_text(command.about + ".");
  for (const std::string& note : command.notes) {
    page.add(".PP");
    page.add_text(note);
  }
  if (!command.commands.empty()) page.add_section("COMMANDS");
  for (const Command& inner : command.commands)
    add_term(page, bold(inner.name.substr(inner.name.rfind(' ') + 1)), inner.about + ".");
  if (!command.arguments.empty()) page.add_section("ARGUMENTS");
  for (const Argument& argument : command.arguments)
    add_term(page, italic(argument.name), argument.help);
  add_options(page, command);
  if (!command.exit_codes.empty()) page.add_section("EXIT STATUS");
  page.add_text(command.exit_codes);
  add_examples(page, command);
  add_see_also(page, command, program);
  return page.take();
}

}  // namespace headroom::command_line

// SPDX-License-Identifier: Apache-2.0
#include "command_line/description.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace headroom::command_line {
namespace {

constexpr std::string_view exit_heading = "Exit: ";
constexpr std::string_view examples_heading = "Examples:\n";
constexpr std::string_view gap = "  ";  // Between an example and its meaning.

bool is_literal(std::string_view word) {
  return std::none_of(word.begin(), word.end(),
                      [](unsigned char letter) { return std::isupper(letter) != 0; });
}

ValueKind kind_of_place(std::string_view place) {
  if (place.starts_with("DIR")) return ValueKind::folder;
  const bool is_file = place.starts_with("FILE") || place.starts_with("PATH") ||
                       place.starts_with("JOB") || place.starts_with("TRACE") ||
                       place.starts_with("SERVICE") || place.starts_with("OUT");
  return is_file ? ValueKind::file : ValueKind::text;
}

Value make_value(const std::string& type, const KnownWords& known) {
  Value value{type, ValueKind::text, {}, false};
  for (const std::string_view part : split(type, '|')) {
    const auto words = known.find(part);
    if (words != known.end()) {
      value.words.insert(value.words.end(), words->second.begin(), words->second.end());
    } else if (is_literal(part)) {
      value.words.emplace_back(part);
    } else {
      value.is_open = true;
      if (value.kind == ValueKind::text) value.kind = kind_of_place(part);
    }
  }
  if (!value.words.empty() && value.kind == ValueKind::text) value.kind = ValueKind::words;
  return value;
}

// Without what CLI11 adds of its own to the type: ":{auto,kernel}", ":INT in [1 - 3600]".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

bool repeats(const CLI::Option& option) {
  return option.get_expected_max() > 1 && option.get_items_expected_max() > 1;
}

Argument describe_argument(const CLI::Option& option, const KnownWords& known) {
  return {option.get_name(true), make_value(type_of(option), known), option.get_description(),
          option.get_required(), repeats(option)};
}

Option describe_option(const CLI::Option& option, const KnownWords& known) {
  Option described;
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) described.value = make_value(type_of(option), known);
  described.help = option.get_description();
  described.group = option.get_group();
  described.repeats = described.value.kind != ValueKind::none && repeats(option);
  return described;
}

std::vector<Example> parse_examples(std::string_view lines) {
  std::vector<Example> examples;
  for (const std::string_view line : split_lines(lines)) {
    const std::string_view text = trim(line);
    const std::size_t end = text.find(gap);
    const std::string_view meaning = end == std::string_view::npos ? "" : trim(text.substr(end));
    examples.push_back({std::string(text.substr(0, end)), std::string(meaning)});
  }
  return examples;
}

std::string on_one_line(std::string_view paragraph) {
  std::string line;
  for (const std::string_view part : split_lines(paragraph))
    line.append(line.empty() ? "" : " ").append(trim(part));
  return line;
}

void add_footer(Command& command, std::string_view footer) {
  while (!footer.empty()) {
    const std::size_t end = footer.find("\n\n");
    const std::string_view paragraph = footer.substr(0, end);
    footer = end == std::string_view::npos ? "" : footer.substr(end + 2);
    if (paragraph.starts_with(exit_heading)) {
      command.exit_codes = on_one_line(paragraph.substr(exit_heading.size()));
    } else if (paragraph.starts_with(examples_heading)) {
      command.examples = parse_examples(paragraph.substr(examples_heading.size()));
    } else {
      command.notes.push_back(on_one_line(paragraph));
    }
  }
}

// Options stand together that have one heading; the first heading is the first option's.
void sort_by_group(std::vector<Option>& options) {
  std::vector<std::string> groups;
  for (const Option& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  }
  const auto place = [&groups](const Option& option) {
    return std::find(groups.begin(), groups.end(), option.group) - groups.begin();
  };
  std::stable_sort(options.begin(), options.end(),
                   [&place](const Option& a, const Option& b) { return place(a) < place(b); });
}

bool is_shown(const CLI::App& command) {
  return !command.get_group().empty();
}

Command describe_as(const CLI::App& app, const std::string& name, const KnownWords& known) {
  Command command;
  command.name = name;
  command.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      command.arguments.push_back(describe_argument(*option, known));
    } else {
      command.options.push_back(describe_option(*option, known));
    }
  }
  sort_by_group(command.options);
  add_footer(command, app.get_footer());
  command.runs_command =
      std::any_of(command.arguments.begin(), command.arguments.end(),
                  [](const Argument& argument) { return argument.value.name == command_place; });
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (is_shown(*inner))
      command.commands.push_back(describe_as(*inner, name + " " + inner->get_name(), known));
  }
  return command;
}

}  // namespace

Command describe(const CLI::App& app, const KnownWords& known) {
  return describe_as(app, app.get_name(), known);
}

}  // namespace headroom::command_line

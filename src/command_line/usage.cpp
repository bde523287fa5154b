// SPDX-License-Identifier: Apache-2.0
#include "command_line/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/printable.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "command_line/description.h"
#include "command_line/help_text.h"

namespace headroom::command_line {
namespace {

using Words = std::vector<std::string>;

// The command that was typed, or the program itself.
const CLI::App& typed_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

// "plan: " in front of what is wrong with a command, nothing for the program itself.
std::string in_front(const CLI::App& app, const CLI::App& command) {
  return &app == &command ? "" : command.get_name() + ": ";
}

Words names_of(const Command& command) {
  Words names;
  for (const Option& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

Words commands_of(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

// "--size" of "--size=3".
std::string option_name(const std::string& found) {
  return printable(found.substr(0, found.find('=')));
}

// The command line with `found` replaced, to be typed again.
std::string corrected(Words words, const std::string& found, const std::string& meant) {
  const auto place = std::find(words.begin(), words.end(), found);
  if (place != words.end()) *place = meant;
  return shell_line(words);
}

// `what`, and the nearest of `candidates` where `found` is a typing error.
Error unknown_word(const std::string& what, const std::string& found, const Words& candidates,
                   const Words& words, const std::string& help) {
  const std::string name = found.substr(0, found.find('='));
  const auto meant = nearest(name, candidates);
  if (!meant) return {Errc::invalid, what, help};
  return {Errc::invalid, fmt::format("{}; did you mean {}?", what, *meant),
          corrected(words, found, *meant + found.substr(name.size()))};
}

Error no_command(const CLI::App& app, const Words& rest, const Words& words) {
  const std::string help = app.get_name() + " --help";
  if (rest.empty())
    return {Errc::invalid, "expected a command, found none", help + " lists the commands"};
  const std::string& found = rest.front();
  if (found.starts_with('-'))
    return unknown_word("there is no option " + option_name(found), found, names_of(describe(app)),
                        words, help);
  return unknown_word(fmt::format("there is no command \"{}\"", printable(found)), found,
                      commands_of(app), words, help + " lists the commands");
}

// What stands before the command's name, behind it.
Words with_options_behind(Words words, const std::string& command) {
  const auto name = std::find(words.begin(), words.end(), command);
  if (words.empty() || name == words.end()) return words;
  std::rotate(words.begin() + 1, name, name + 1);
  return words;
}

// An option that does not exist. The command line with the one that was meant is offered only where
// it would be understood: not where that one takes a value and none was typed behind it.
Error unknown_option(const std::string& front, const std::string& found, const Command& command,
                     const Words& words, const std::string& help) {
  const Words known = names_of(command);
  const std::string typed = option_name(found);
  if (!front.empty() && std::find(known.begin(), known.end(), typed) != known.end()) {
    const std::string own = front.substr(0, front.find(':'));
    return {Errc::invalid, fmt::format("{}{} stands behind the command's name", front, typed),
            shell_line(with_options_behind(words, own))};
  }
  const std::string what = fmt::format("{}there is no option {}", front, typed);
  Error error = unknown_word(what, found, names_of(command), words, help);
  const auto meant = nearest(found.substr(0, found.find('=')), names_of(command));
  const auto place = std::find(words.begin(), words.end(), found);
  const bool has_value =
      found.find('=') != std::string::npos ||
      (place != words.end() && place + 1 != words.end() && !(place + 1)->starts_with('-'));
  for (const Option& option : command.options) {
    const auto& names = option.names;
    const bool is_it = meant && std::find(names.begin(), names.end(), *meant) != names.end();
    if (is_it && option.value.kind != ValueKind::none && !has_value) error.next = help;
  }
  return error;
}

Error one_too_many(const CLI::App& app, const CLI::App& command, const std::string& found,
                   const Words& words) {
  const Command described = describe(command);
  const std::string front = in_front(app, command);
  const std::string name = app.get_name() + (front.empty() ? "" : " " + command.get_name());
  if (found.starts_with('-'))
    return unknown_option(front, found, described, words, name + " --help");
  return {Errc::invalid, fmt::format("{}one argument too many: \"{}\"", front, printable(found)),
          name + " --help"};
}

// The first argument that the command needs and was not given.
const CLI::Option* missing_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) return option;
  }
  return nullptr;
}

std::string expected_one(const std::string& name) {
  const bool vowel =
      !name.empty() && std::string_view("AEIOUaeiou").find(name.front()) != std::string_view::npos;
  return fmt::format("expected {} {}, found none", vowel ? "an" : "a", name);
}

// A value that is none of those that its option has. Requires: the parser refused a value; options
// without a check of their own take more than their type name says.
std::optional<Error> wrong_value(const std::string& front, const CLI::App& command,
                                 const Words& words) {
  for (const Option& option : describe(command).options) {
    if (option.value.kind != ValueKind::words || option.value.is_open) continue;
    for (const std::string& found : command.get_option(option.names.back())->results()) {
      const Words& known = option.value.words;
      if (std::find(known.begin(), known.end(), found) != known.end()) continue;
      const std::string what =
          fmt::format("{}{}: expected {}, found \"{}\"", front, option.names.back(),
                      join(known, " or "), printable(found));
      return unknown_word(what, found, known, words,
                          fmt::format("{} {}", option.names.back(), known.front()));
    }
  }
  return std::nullopt;
}

// An option whose value was forgotten: the parser took the option behind it for the value.
std::optional<Error> forgotten_value(const std::string& front, const CLI::App& command,
                                     const std::string& help) {
  const Words known = names_of(describe(command));
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& found : option->results()) {
      const bool is_option =
          found.starts_with("--") && std::find(known.begin(), known.end(), found) != known.end();
      if (!is_option || option->get_items_expected_max() == 0) continue;
      return Error{Errc::invalid,
                   fmt::format("{}expected a value behind {}, found the option {}", front,
                               option->get_name(), found),
                   help};
    }
  }
  return std::nullopt;
}

// How often an option was typed, or how many values stand behind it, in this program's words: the
// option that has the wrong number. Requires: the parser refused a number.
std::optional<Error> wrong_count(const std::string& front, const CLI::App& command,
                                 const std::string& help) {
  for (const CLI::Option* option : command.get_options()) {
    const auto found = static_cast<long long>(option->count());
    const std::string name = option->get_single_name();
    const std::string dashed = name.starts_with('-') ? name : option->get_name();
    if (found > option->get_items_expected_max()) {
      return Error{Errc::invalid,
                   fmt::format("{}{}: expected it once, found it {} times", front, dashed, found),
                   "give it once, or see " + help};
    }
  }
  return std::nullopt;
}

// "--log: 1 required FILE missing": the option's name.
std::string option_of(const std::string& problem) {
  return problem.substr(0, problem.find(':'));
}

std::optional<Error> wrong_number(const std::string& front, const CLI::App& command,
                                  const std::string& problem, const std::string& help) {
  const std::string name = option_of(problem);
  if (problem.ends_with(" missing")) {
    const CLI::Option* option = command.get_option_no_throw(name);
    const std::string type = option == nullptr ? "value" : option->get_type_name();
    return Error{Errc::invalid,
                 fmt::format("{}{}: expected a value ({}), found nothing", front, name, type),
                 help};
  }
  return wrong_count(front, command, help);
}

// "--env excludes --verbose".
std::optional<Error> wrong_pair(const std::string& front, const std::string& problem,
                                const std::string& help) {
  constexpr std::string_view excludes = " excludes ", needs = " requires ";
  if (const auto at = problem.find(excludes); at != std::string::npos) {
    return Error{Errc::invalid,
                 fmt::format("{}expected {} or {}, found both", front, problem.substr(0, at),
                             problem.substr(at + excludes.size())),
                 "leave one of them out, or see " + help};
  }
  if (const auto at = problem.find(needs); at != std::string::npos) {
    return Error{Errc::invalid,
                 fmt::format("{}{} expects {} beside it, found none", front, problem.substr(0, at),
                             problem.substr(at + needs.size())),
                 help};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_answer(const CLI::App& app, const CLI::ParseError& problem,
                                       std::size_t width) {
  if (problem.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) return std::nullopt;
  if (dynamic_cast<const CLI::CallForHelp*>(&problem) == nullptr)
    return std::string(problem.what()) + "\n";
  const CLI::App& command = typed_command(app);
  Command described = describe(command);
  if (&command != &app) described.name = app.get_name() + " " + described.name;
  return to_help(described, width);
}

Error make_usage_error(const CLI::App& app, const CLI::ParseError& problem, const Words& words) {
  const auto rest = app.remaining(/*recurse=*/true);
  const CLI::App& command = typed_command(app);
  const bool needs_command = &command == &app && !commands_of(app).empty();
  if (needs_command) return no_command(app, rest, words);
  const std::string front = in_front(app, command);
  const std::string help =
      app.get_name() + (front.empty() ? "" : " " + command.get_name()) + " --help";
  if (auto wrong = forgotten_value(front, command, help)) return *std::move(wrong);
  if (!rest.empty()) return one_too_many(app, command, rest.front(), words);
  const bool is_refused = dynamic_cast<const CLI::ValidationError*>(&problem) != nullptr;
  if (auto wrong = is_refused ? wrong_value(front, command, words) : std::nullopt) return *wrong;
  const bool is_number = dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr;
  const std::string said = problem.what();
  const bool is_pair = dynamic_cast<const CLI::ExcludesError*>(&problem) != nullptr ||
                       dynamic_cast<const CLI::RequiresError*>(&problem) != nullptr;
  std::optional<Error> wrong;
  if (is_number) wrong = wrong_number(front, command, said, help);
  if (is_pair) wrong = wrong_pair(front, said, help);
  if (wrong) return *std::move(wrong);
  const CLI::Option* missing = missing_option(command);
  const std::string what = missing == nullptr ? said : expected_one(missing->get_single_name());
  return {Errc::invalid, front + what, help};
}

}  // namespace headroom::command_line

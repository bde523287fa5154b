// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace headroom::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Error no_such_command(const CLI::App& app, const std::vector<std::string>& rest) {
  const auto names = command_names(app);
  const std::string expected = "expected a command (" + join(names, ", ") + ")";
  if (rest.empty()) return {Errc::invalid, expected + ", found none", "headroom --help"};
  const auto meant = nearest(rest.front(), names);
  return {Errc::invalid, fmt::format("{}, found \"{}\"", expected, rest.front()),
          meant ? "headroom " + *meant : "headroom --help"};
}

Error no_such_argument(const CLI::App& command, const std::string& found) {
  const bool runs = command.get_name() == "run";
  const std::string help = runs && !found.starts_with('-')
                               ? "headroom run -- CMD ...: a command stands behind --"
                               : fmt::format("headroom {} --help", command.get_name());
  if (!found.starts_with('-'))
    return {Errc::invalid,
            fmt::format("{}: one argument too many: \"{}\"", command.get_name(), found), help};
  const auto meant = nearest(found.substr(0, found.find('=')), option_names(command));
  return {Errc::invalid, fmt::format("{}: there is no option {}", command.get_name(), found),
          meant ? fmt::format("did you mean {}?", *meant) : help};
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

}  // namespace

int print_usage(const CLI::App& app, const CLI::ParseError& problem, const Context& context) {
  if (problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    std::ostringstream help;
    app.exit(problem, help, help);
    context.printer.print(help.str());
    return exit_ok;
  }
  const auto rest = app.remaining(/*recurse=*/true);
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return print_error(context, no_such_command(app, rest), exit_usage);
  const CLI::App& command = *parsed.front();
  if (!rest.empty())
    return print_error(context, no_such_argument(command, rest.front()), exit_usage);
  const CLI::Option* missing = missing_option(command);
  const std::string what =
      missing == nullptr ? problem.what() : expected_one(missing->get_single_name());
  return print_error(context,
                     {Errc::invalid, fmt::format("{}: {}", command.get_name(), what),
                      fmt::format("headroom {} --help", command.get_name())},
                     exit_usage);
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/usage.h"

namespace {

std::vector<std::pair<std::string, std::string>> split_environment(char** variables) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return environment;
}

}  // namespace

int main(int argc, char** argv, char** variables) {
  CLI::App app{"headroom gets machine-learning jobs running, and keeps them running, on an AMD GPU",
               "headroom"};
  app.set_version_flag("--version", "headroom " HEADROOM_VERSION);
  app.require_subcommand(1);
  headroom::cli::Context context;
  context.environment = split_environment(variables);
  headroom::cli::add_check(app, context);
  headroom::cli::add_capture(app, context);
  headroom::cli::add_plan(app, context);
  headroom::cli::add_run(app, context);
  headroom::cli::add_replay(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return headroom::cli::print_usage(app, problem);
  }
  return context.exit_code;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/built_with.h"
#include "cli/commands.h"
#include "cli/usage.h"

int main(int argc, char** argv, char** variables) {
  headroom::machine::Printer printer("headroom");  // First: it sees which descriptors are closed.
  CLI::App app{"headroom gets machine-learning jobs running, and keeps them running, on an AMD GPU",
               "headroom"};
  app.set_version_flag("--version", headroom::cli::describe_build);
  app.require_subcommand(1);
  headroom::cli::Context context{printer, {}, {}};
  for (char** entry = variables; entry != nullptr && *entry != nullptr; ++entry) {
    context.environment.append(*entry).push_back('\0');
  }
  context.words = {"headroom"};
  for (int i = 1; i < argc; ++i) context.words.emplace_back(argv[i]);
  headroom::cli::add_check(app, context);
  headroom::cli::add_capture(app, context);
  headroom::cli::add_plan(app, context);
  headroom::cli::add_fix(app, context);
  headroom::cli::add_confirm(app, context);
  headroom::cli::add_undo(app, context);
  headroom::cli::add_history(app, context);
  headroom::cli::add_reclaim(app, context);
  headroom::cli::add_run(app, context);
  headroom::cli::add_deploy(app, context);
  headroom::cli::add_test(app, context);
  headroom::cli::add_replay(app, context);
  try {
    app.parse(headroom::cli::count_own_words(argc, argv), argv);
  } catch (const CLI::ParseError& problem) {
    return printer.finish(headroom::cli::print_usage(app, problem, context));
  }
  return printer.finish(context.exit_code);
}

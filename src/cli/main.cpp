// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "cli/built_with.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/pages.h"
#include "cli/usage.h"

int main(int argc, char** argv, char** variables) {
  headroom::machine::Printer printer("headroom");  // First: it sees which descriptors are closed.
  CLI::App app{"Get machine-learning jobs running, and keep them running, on an AMD GPU",
               "headroom"};
  app.set_version_flag("--version", headroom::cli::describe_build, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.footer(
      "headroom help TOPIC explains a command or a topic: memory, ladder, apu, containers, ...\n\n"
      "Exit: 0 fine; 1 something was found, does not fit, or failed; 2 wrong usage; 3 could not "
      "look or answer.\n\n"
      "Examples:\n"
      "  headroom check                         what this machine's GPUs can use, and what is "
      "wrong\n"
      "  headroom check --log train.log         why a job failed\n"
      "  headroom plan --model Qwen/Qwen2.5-3B  how much memory a job will need\n"
      "  headroom run -- python train.py        a job that is watched and kept running");
  app.require_subcommand(1);
  headroom::cli::Context context{printer, {}, {}};
  for (char** entry = variables; entry != nullptr && *entry != nullptr; ++entry) {
    context.environment.append(*entry).push_back('\0');
  }
  context.words = {"headroom"};
  for (int i = 1; i < argc; ++i) context.words.emplace_back(argv[i]);
  headroom::cli::add_check(app, context);
  headroom::cli::add_top(app, context);
  headroom::cli::add_serve(app, context);
  headroom::cli::add_report(app, context);
  headroom::cli::add_capture(app, context);
  headroom::cli::add_plan(app, context);
  headroom::cli::add_fix(app, context);
  headroom::cli::add_confirm(app, context);
  headroom::cli::add_undo(app, context);
  headroom::cli::add_history(app, context);
  headroom::cli::add_reclaim(app, context);
  headroom::cli::add_run(app, context);
  headroom::cli::add_ranks(app, context);
  headroom::cli::add_deploy(app, context);
  headroom::cli::add_tune(app, context);
  headroom::cli::add_test(app, context);
  headroom::cli::add_accept(app, context);
  headroom::cli::add_try(app, context);
  headroom::cli::add_replay(app, context);
  headroom::cli::add_help(app, context);
  headroom::cli::add_pages(app, context);
  try {
    app.parse(headroom::cli::count_own_words(argc, argv), argv);
  } catch (const CLI::ParseError& problem) {
    return printer.finish(headroom::cli::print_usage(app, problem, context));
  } catch (const std::bad_alloc&) {
    const headroom::Error error{headroom::Errc::out_of_memory,
                                "expected enough memory of this machine for the answer, found none",
                                "ask for less at a time, or where there is more memory"};
    return printer.finish(
        headroom::cli::print_error(context, error, headroom::cli::exit_could_not_look));
  }
  return printer.finish(context.exit_code);
}

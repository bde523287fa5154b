// SPDX-License-Identifier: Apache-2.0
// The commands of `headroom`, one file each. main() builds the App, adds them in the order people
// read them in --help, and returns what the command that ran left in Context::exit_code.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "machine/printer.h"

namespace headroom::cli {

// The exit codes of every command; a command's page in docs/ says what they mean for it. Errors
// that CLI11 finds become exit_usage.
enum ExitCode : int { exit_ok = 0, exit_findings = 1, exit_usage = 2, exit_could_not_look = 3 };

struct Context {
  machine::Printer& printer;       // Of everything that a command prints.
  std::string environment;         // This process's, as NUL-separated NAME=VALUE.
  std::vector<std::string> words;  // The command line as typed, beginning with "headroom".
  int exit_code = exit_ok;
};

// Prints "headroom: MESSAGE" and, where there is one, "  next: COMMAND" on stderr; returns `code`.
int print_error(const Context& context, const Error& error, ExitCode code);

// The same of a change to this machine: where root alone may look or write, the next command is the
// one that was typed, with sudo.
int print_change_error(const Context& context, Error error, ExitCode code);

// How many words of a command line are headroom's own: all of them, or for `run` those before "--",
// behind which stands the command that it runs.
int count_own_words(int argc, const char* const* argv);

// Each adds one command to the App; `context` must outlive the parse.
void add_check(CLI::App& app, Context& context);
void add_top(CLI::App& app, Context& context);
void add_serve(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_capture(CLI::App& app, Context& context);
void add_plan(CLI::App& app, Context& context);
void add_fix(CLI::App& app, Context& context);
void add_confirm(CLI::App& app, Context& context);
void add_undo(CLI::App& app, Context& context);
void add_history(CLI::App& app, Context& context);
void add_reclaim(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_ranks(CLI::App& app, Context& context);
void add_deploy(CLI::App& app, Context& context);
void add_tune(CLI::App& app, Context& context);
void add_test(CLI::App& app, Context& context);
void add_accept(CLI::App& app, Context& context);
void add_try(CLI::App& app, Context& context);
void add_replay(CLI::App& app, Context& context);

}  // namespace headroom::cli

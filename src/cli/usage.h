// SPDX-License-Identifier: Apache-2.0
// Answers to a command line that ran no command: help, the version, or what is wrong with it.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace headroom::cli {

// Prints help or the version on stdout where `problem` is that they were asked for, else what is
// wrong with the command line on stderr. Returns the exit code: 0 or exit_usage. Requires: `app`
// threw `problem` from its parse.
int print_usage(const CLI::App& app, const CLI::ParseError& problem, const Context& context);

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
// Wrong usage of the command line, said as every other error is: what was expected, what was found
// and what to type next.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace headroom::cli {

// Prints help or the version on stdout where `problem` is that they were asked for, else what is
// wrong with the command line on stderr. Returns the exit code: 0 or exit_usage. Requires: `app`
// threw `problem` from its parse.
int print_usage(const CLI::App& app, const CLI::ParseError& problem, const Context& context);

}  // namespace headroom::cli

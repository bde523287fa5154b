// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include "command_line/usage.h"
#include "machine/terminal.h"

namespace headroom::cli {

int print_usage(const CLI::App& app, const CLI::ParseError& problem, const Context& context) {
  if (const auto answer = command_line::find_answer(app, problem, machine::stdout_width())) {
    context.printer.print(*answer);
    return exit_ok;
  }
  return print_error(context, command_line::make_usage_error(app, problem, context.words),
                     exit_usage);
}

}  // namespace headroom::cli

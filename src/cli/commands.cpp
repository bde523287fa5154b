// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include "base/shell_quote.h"
#include "machine/user.h"

namespace headroom::cli {

int print_error(const Context& context, const Error& error, ExitCode code) {
  context.printer.tell(error);
  return code;
}

int print_change_error(const Context& context, Error error, ExitCode code) {
  if (error.code == Errc::no_permission && !machine::runs_as_root()) {
    error.next = "sudo " + shell_line(context.words);
  }
  return print_error(context, error, code);
}

}  // namespace headroom::cli

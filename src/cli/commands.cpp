// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace headroom::cli {

int print_error(const Context& context, const Error& error, ExitCode code) {
  context.printer.tell(error);
  return code;
}

}  // namespace headroom::cli

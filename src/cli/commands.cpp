// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>

namespace headroom::cli {

int print_error(const Error& error, ExitCode code) {
  fmt::print(stderr, "headroom: {}\n", error.message);
  if (!error.next.empty()) fmt::print(stderr, "  next: {}\n", error.next);
  return code;
}

}  // namespace headroom::cli

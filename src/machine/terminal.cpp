// SPDX-License-Identifier: Apache-2.0
#include "machine/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace headroom::machine {

bool stdout_shows_colour() {
  // Asked once at the start, before any thread exists.
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  const char* terminal = std::getenv("TERM");       // NOLINT(concurrency-mt-unsafe)
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace headroom::machine

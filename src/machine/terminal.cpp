// SPDX-License-Identifier: Apache-2.0
#include "machine/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace headroom::machine {

bool stdout_shows_colour() {
  // Asked once at the start, before any thread exists.
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  const char* terminal = std::getenv("TERM");       // NOLINT(concurrency-mt-unsafe)
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

std::size_t text_width(bool is_terminal, unsigned columns, std::string_view variable) {
  constexpr std::uint64_t narrowest = 20;
  constexpr std::uint64_t widest = 200;
  constexpr std::size_t elsewhere = 100;
  if (!is_terminal) return elsewhere;
  const std::uint64_t said = columns > 0 ? columns : parse_u64(variable).value_or(0);
  if (said == 0) return elsewhere;
  return static_cast<std::size_t>(std::clamp(said, narrowest, widest));
}

std::size_t stdout_width() {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  const bool told = is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  const char* variable = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe)
  return text_width(is_terminal, told ? size.ws_col : 0, variable == nullptr ? "" : variable);
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace headroom::machine

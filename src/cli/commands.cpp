// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/shell_quote.h"
#include "machine/user.h"
#include "report/style.h"

namespace headroom::cli {
namespace {

std::string printable_lines(const std::string& text) {
  std::string clean;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) clean += '\n';
    clean += report::printable(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return clean;
}

}  // namespace

int print_error(const Error& error, ExitCode code) {
  std::fflush(stdout);  // What was said before comes before it, wherever both go.
  // Messages quote what was found, which may be anything.
  fmt::print(stderr, "headroom: {}\n", printable_lines(error.message));
  if (!error.next.empty()) fmt::print(stderr, "  next: {}\n", printable_lines(error.next));
  return code;
}

int print_change_error(Error error, ExitCode code, const Context& context) {
  if (error.code == Errc::no_permission && !machine::runs_as_root()) {
    error.next = "sudo " + shell_line(context.words);
  }
  return print_error(error, code);
}

}  // namespace headroom::cli

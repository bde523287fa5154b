// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <array>

#include "base/shell_quote.h"
#include "machine/user.h"
#include "report/cause_text.h"

namespace headroom::cli {
namespace {

// What was asked about the machine in a folder is asked on about that one: without its --root a
// command that is typed next would answer about this machine.
std::string with_root(std::string next, const std::vector<std::string>& words) {
  // Behind "--" stand another program's words.
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto at = std::find_if(words.begin(), end, [](const std::string& word) {
    return word == "--root" || word.starts_with("--root=");
  });
  constexpr std::array takes = {"headroom check", "headroom fix", "headroom reclaim"};
  const bool fits = std::any_of(takes.begin(), takes.end(), [&next](std::string_view command) {
    return next == command || next.starts_with(std::string(command) + " ");
  });
  constexpr std::array keeps = {"--help", "--root", "--apply"};
  const bool kept = std::any_of(keeps.begin(), keeps.end(), [&next](std::string_view word) {
    return next.find(word) != std::string::npos;
  });
  if (at == end || !fits || kept) return next;
  const bool joined = *at != "--root";
  if (!joined && at + 1 == end) return next;
  const std::string root = joined ? at->substr(std::string_view("--root=").size()) : *(at + 1);
  // "headroom check --env FILE, or - for standard input" names its command first.
  const std::size_t other = std::min(next.find(", or "), next.size());
  return report::for_root(next.substr(0, other), root) + next.substr(other);
}

}  // namespace

int print_error(const Context& context, const Error& error, ExitCode code) {
  Error shown = error;
  shown.next = with_root(std::move(shown.next), context.words);
  context.printer.tell(shown);
  return code;
}

int print_change_error(const Context& context, Error error, ExitCode code) {
  if (error.code == Errc::no_permission && !machine::runs_as_root()) {
    error.next = "sudo " + shell_line(context.words);
  }
  return print_error(context, error, code);
}

}  // namespace headroom::cli

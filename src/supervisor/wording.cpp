// SPDX-License-Identifier: Apache-2.0
#include "supervisor/wording.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom::supervisor {

std::string signal_name(int number) {
  static constexpr std::array<std::string_view, 32> names{
      "",        "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
      "SIGFPE",  "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
      "",        "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
      "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
  const auto index = static_cast<std::size_t>(number);
  if (number > 0 && index < names.size() && !names[index].empty()) {
    return std::string(names[index]);
  }
  return fmt::format("signal {}", number);
}

std::string describe_exit(const Exit& exit) {
  if (exit.signal) return "was ended by " + signal_name(*exit.signal);
  return fmt::format("ended with exit code {}", exit.code);
}

std::string describe_time(Time time) {
  const std::int64_t ms = time.count();
  const std::int64_t s = ms / 1000;
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < std::int64_t{48} * 3600) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} days {} h", s / 86400, s % 86400 / 3600);
}

std::string describe_settings(const Settings& settings) {
  std::string text;
  if (settings.micro) text = fmt::format("micro {}", *settings.micro);
  if (settings.accumulate) {
    text += fmt::format("{}accumulate {}", text.empty() ? "" : " and ", *settings.accumulate);
  }
  return text.empty() ? "the same settings" : text;
}

}  // namespace headroom::supervisor

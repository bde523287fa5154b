// SPDX-License-Identifier: Apache-2.0
#include "machine/services/held_signals.h"

#include <chrono>

namespace headroom::machine {

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  sigaddset(&held_, SIGINT);
  sigaddset(&held_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignored, &hangup_);
  ::sigaction(SIGPIPE, &ignored, &pipe_);
}

HeldSignals::~HeldSignals() {
  while (take()) {
  }
  ::sigaction(SIGHUP, &hangup_, nullptr);
  ::sigaction(SIGPIPE, &pipe_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<std::string> HeldSignals::take() const {
  const timespec at_once{};
  const int signal = ::sigtimedwait(&held_, nullptr, &at_once);
  if (signal < 0) return std::nullopt;
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

std::int64_t time_of_day_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace headroom::machine

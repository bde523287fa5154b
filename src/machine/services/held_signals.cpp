// SPDX-License-Identifier: Apache-2.0
#include "machine/services/held_signals.h"

#include <unistd.h>

#include <chrono>

namespace headroom::machine {

HeldSignals::HeldSignals() : parent_(::getppid()) {
  sigemptyset(&held_);
  sigaddset(&held_, SIGINT);
  sigaddset(&held_, SIGTERM);
  sigaddset(&held_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &pipe_);
}

HeldSignals::~HeldSignals() {
  hung_up_ = true;  // Nothing is waited for any more.
  while (take()) {
  }
  ::sigaction(SIGPIPE, &pipe_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool HeldSignals::is_hung_up() {
  if (hung_up_) return true;
  sigset_t hangup{};
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  const timespec patience{1, 0};
  hung_up_ = ::sigtimedwait(&hangup, nullptr, &patience) == SIGHUP;
  return hung_up_;
}

std::optional<std::string> HeldSignals::take() {
  const timespec at_once{};
  siginfo_t from{};
  for (;;) {
    const int signal = ::sigtimedwait(&held_, &from, &at_once);
    if (signal < 0) return std::nullopt;
    if (signal == SIGHUP) {
      hung_up_ = true;
      continue;
    }
    if (signal == SIGTERM && from.si_pid == parent_ && is_hung_up()) continue;
    return signal == SIGINT ? "SIGINT" : "SIGTERM";
  }
}

std::int64_t time_of_day_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::array watched_signals{SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                     SIGUSR2, SIGWINCH, SIGCONT, SIGCHLD};

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

Result<Signals> Signals::take() {
  Signals signals;
  sigemptyset(&signals.taken_);
  for (const int signal : watched_signals) {
    if (!is_ignored(signal)) sigaddset(&signals.taken_, signal);
  }
  signals.descriptor_ = Descriptor(::signalfd(-1, &signals.taken_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals.descriptor_.get() < 0) return os_error(errno, "asking for signals as values");
  pthread_sigmask(SIG_BLOCK, &signals.taken_, &signals.before_);
  signals.is_active_ = true;
  return signals;
}

std::span<const int> Signals::watched() {
  return watched_signals;
}

Signals::Signals(Signals&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      taken_(other.taken_),
      before_(other.before_),
      is_active_(std::exchange(other.is_active_, false)) {}

Signals::~Signals() {
  if (!is_active_) return;
  const timespec at_once{};
  while (sigtimedwait(&taken_, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<ArrivedSignal> Signals::next() {
  signalfd_siginfo info{};
  ssize_t count = 0;
  do {
    count = ::read(descriptor_.get(), &info, sizeof info);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return ArrivedSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL, info.ssi_pid};
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/process_handle.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>

#include "machine/clock.h"
#include "machine/os_error.h"

namespace headroom::machine {

Result<ProcessHandle> ProcessHandle::open(std::uint64_t pid) {
  const std::string doing = fmt::format("taking hold of process {}", pid);
  if (pid == 0 || pid > static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())) {
    return Error{Errc::not_found, doing + ": there is no such number", ""};
  }
  const auto fd = ::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0U);
  if (fd >= 0) return ProcessHandle(Descriptor(static_cast<int>(fd)));
  if (errno == ESRCH) return Error{Errc::not_found, doing + ": it has ended", ""};
  return os_error(errno, doing);
}

Status ProcessHandle::send(Signal signal) const {
  const int number = signal == Signal::kill ? SIGKILL : SIGTERM;
  if (::syscall(SYS_pidfd_send_signal, descriptor_.get(), number, nullptr, 0U) == 0) return Done{};
  if (errno == ESRCH) return Error{Errc::not_found, "it has ended", ""};
  return os_error(errno, "sending a signal");
}

bool ProcessHandle::wait_ended(std::uint64_t timeout_ms) const {
  const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
  while (true) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t left_ms = now < deadline ? (deadline - now + 999'999) / 1'000'000 : 0;
    pollfd one{descriptor_.get(), POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::uint64_t>(left_ms, 60'000)));
    if (ready > 0) return (one.revents & POLLIN) != 0;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && left_ms <= 60'000) return false;
  }
}

std::uint64_t own_pid() {
  return static_cast<std::uint64_t>(::getpid());
}

}  // namespace headroom::machine

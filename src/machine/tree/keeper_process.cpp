// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace headroom::machine {
namespace {

[[noreturn]] void run_command(Launch& launch, const KeeperEnds& ends, pid_t keeper) {
  constexpr int not_started = 127;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::close(ends.our_gate);  // Else the gate would never seem closed.
  char go = 0;
  ssize_t count = 0;
  do {
    count = ::read(ends.gate, &go, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1 || ::getppid() != keeper) ::_exit(not_started);
  const LaunchFailure failure = launch.run();
  (void)!::write(ends.failures, &failure, sizeof failure);
  ::_exit(not_started);
}

void close_range_of(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  constexpr unsigned highest = 65536;  // Before Linux 5.9; nobody here opens as many.
  for (unsigned fd = first; fd <= last && fd < highest; ++fd) ::close(static_cast<int>(fd));
}

// What it has copies of would seem in use, a pipe to the command's reader for instance.
void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  close_range_of(0, number - 1);
  close_range_of(number + 1, ~0U);
}

void tell(int line, const KeeperMessage& message) {
  (void)::send(line, &message, sizeof message, MSG_NOSIGNAL);
}

void reap(int line, pid_t command) {
  for (;;) {
    siginfo_t info{};
    const int failed = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
    if (failed != 0 && errno == EINTR) continue;
    if (failed != 0 || info.si_pid == 0) return;
    if (info.si_pid == command) tell(line, {command, 0, true, info.si_code, info.si_status});
  }
}

[[noreturn]] void keep(int line, pid_t command) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  const int signals = ::signalfd(-1, &ended, SFD_NONBLOCK | SFD_CLOEXEC);
  std::array<pollfd, 2> watched{{{line, POLLIN, 0}, {signals, POLLIN, 0}}};
  for (;;) {
    reap(line, command);
    // Without a signalfd it looks ten times a second.
    constexpr int look_again_ms = 100;
    ::poll(watched.data(), watched.size(), signals < 0 ? look_again_ms : -1);
    if (watched[0].revents != 0) ::_exit(0);
    signalfd_siginfo info{};
    while (signals >= 0 && ::read(signals, &info, sizeof info) > 0) {
    }
  }
}

}  // namespace

[[noreturn]] void run_keeper(Launch& launch, const KeeperEnds& ends) {
  // The terminal and whoever signals our process group mean the others of it.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "headroom-keeper");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t keeper = ::getpid();
  const pid_t command = ::fork();
  if (command == 0) run_command(launch, ends, keeper);
  const int number = command < 0 ? errno : 0;
  // Ignored, children would leave nothing to reap. The command has inherited what it was.
  ::signal(SIGCHLD, SIG_DFL);
  close_all_but(ends.line);
  tell(ends.line, {command, number});
  keep(ends.line, command);
}

}  // namespace headroom::machine

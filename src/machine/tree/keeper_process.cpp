// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "machine/tree/close_all.h"

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

void tell(int line, const KeeperMessage& message) {
  (void)::send(line, &message, sizeof message, MSG_NOSIGNAL);
}

struct Kept {
  int line;
  pid_t command;
  bool lives = true;  // The command itself.
};

// Returns whether a child is left.
bool reap(Kept& kept) {
  for (;;) {
    siginfo_t info{};
    const int failed = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
    if (failed != 0 && errno == EINTR) continue;
    if (failed != 0) return false;
    if (info.si_pid == 0) return true;
    if (info.si_pid != kept.command) continue;
    kept.lives = false;
    tell(kept.line, {kept.command, 0, true, info.si_code, info.si_status});
  }
}

// Nobody else reaps our children, so that none of these numbers can belong to another process
// meanwhile. Returns false where the kernel does not list them (CONFIG_PROC_CHILDREN).
bool signal_children(int signal) {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  std::array<char, 4096> text{};
  pid_t child = 0;
  ssize_t count = 0;
  while ((count = ::read(list, text.data(), text.size())) > 0) {
    for (ssize_t i = 0; i < count; ++i) {
      const char letter = text[static_cast<std::size_t>(i)];
      constexpr pid_t base = 10;
      const bool is_digit = letter >= '0' && letter <= '9';
      if (!is_digit && child > 0) ::kill(child, signal);
      child = is_digit ? child * base + (letter - '0') : 0;
    }
  }
  ::close(list);
  return true;
}

// Whom we keep for was killed, and we are who can still end the tree: the children of whoever ends
// become ours. Each gets the time that `--grace` gives where nobody says otherwise.
[[noreturn]] void end_all(Kept& kept) {
  constexpr int pause_ms = 20;
  constexpr int grace_pauses = 500;
  constexpr int settle_pauses = 50;
  const auto pause = [] { ::poll(nullptr, 0, pause_ms); };
  // Where children are not listed, the command gets its SIGTERM by our end (PR_SET_PDEATHSIG).
  if (!signal_children(SIGTERM)) ::_exit(0);
  signal_children(SIGCONT);
  for (int i = 0; i < grace_pauses && reap(kept) && kept.lives; ++i) pause();
  signal_children(SIGTERM);
  for (int i = 0; i < settle_pauses && reap(kept); ++i) pause();
  for (int i = 0; i < grace_pauses && reap(kept); ++i) {
    signal_children(SIGKILL);
    pause();
  }
  ::_exit(0);
}

// A byte on the line says that all is done; its end without one, that nobody is there any more.
[[noreturn]] void leave(Kept& kept) {
  char done = 0;
  ssize_t count = 0;
  do {
    count = ::read(kept.line, &done, 1);
  } while (count < 0 && errno == EINTR);
  if (count == 1) ::_exit(0);
  end_all(kept);
}

[[noreturn]] void keep(Kept kept) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  const int signals = ::signalfd(-1, &ended, SFD_NONBLOCK | SFD_CLOEXEC);
  std::array<pollfd, 2> watched{{{kept.line, POLLIN, 0}, {signals, POLLIN, 0}}};
  for (;;) {
    reap(kept);
    // Without a signalfd it looks ten times a second.
    constexpr int look_again_ms = 100;
    ::poll(watched.data(), watched.size(), signals < 0 ? look_again_ms : -1);
    if (watched[0].revents != 0) leave(kept);
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
  keep({ends.line, command});
}

}  // namespace headroom::machine

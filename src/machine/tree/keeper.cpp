// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/keeper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "machine/os_error.h"
#include "machine/tree/keeper_process.h"

namespace headroom::machine {
namespace {

struct Ends {
  Descriptor ours;
  Descriptor theirs;
};

// Above 2: the command's streams are put there.
Descriptor lift(int fd) {
  Descriptor low(fd);
  if (fd > 2) return low;
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

Result<Ends> make_line() {
  std::array<int, 2> both{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both.data()) != 0)
    return os_error(errno, "making a line to a process");
  return Ends{lift(both[0]), lift(both[1])};
}

Result<Ends> make_pipe_to_us() {
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_CLOEXEC) != 0) return os_error(errno, "making a pipe to a process");
  return Ends{lift(both[0]), lift(both[1])};
}

ssize_t read_whole(int fd, void* into, std::size_t length) {
  ssize_t count = 0;
  do {
    count = ::read(fd, into, length);
  } while (count < 0 && errno == EINTR);
  return count;
}

TreeExit to_exit(const KeeperMessage& message) {
  TreeExit exit;
  if (message.code == CLD_EXITED) {
    exit.code = message.status;
    return exit;
  }
  exit.signal = message.status;
  exit.code = 128 + message.status;
  exit.dumped_core = message.code == CLD_DUMPED;
  return exit;
}

}  // namespace

Status Keeper::fork_both() {
  HEADROOM_TRY(Ends line, make_line());
  HEADROOM_TRY(Ends gate, make_line());
  HEADROOM_TRY(Ends failures, make_pipe_to_us());
  const KeeperEnds ends{line.theirs.get(), gate.theirs.get(), gate.ours.get(),
                        failures.theirs.get()};
  pid_ = ::fork();
  if (pid_ < 0) return os_error(errno, "starting another process");
  if (pid_ == 0) run_keeper(*launch_, ends);
  line_ = std::move(line.ours);
  gate_ = std::move(gate.ours);
  failures_ = std::move(failures.ours);
  return Done{};
}

Status Keeper::receive_command() {
  KeeperMessage message;
  if (read_whole(line_.get(), &message, sizeof message) != sizeof message)
    return Error{Errc::io, "starting another process: it ended at once", ""};
  if (message.command < 0) return os_error(message.number, "starting another process");
  command_ = message.command;
  // Kernels before 5.3 and some containers lack it: then its number has to do.
  handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, command_, 0U)));
  return Done{};
}

Result<Keeper> Keeper::start(Launch& launch) {
  Keeper keeper(launch);
  HEADROOM_CHECK(keeper.fork_both());
  HEADROOM_CHECK(keeper.receive_command());
  return keeper;
}

Keeper::~Keeper() {
  gate_ = Descriptor();
  if (line_.get() < 0) return;  // Moved from, or never begun.
  const char done = 1;
  (void)::send(line_.get(), &done, 1, MSG_NOSIGNAL);
  line_ = Descriptor();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Keeper::release() {
  const char go = 1;
  if (::send(gate_.get(), &go, 1, MSG_NOSIGNAL) != 1)
    return os_error(errno, "letting the command begin");
  gate_ = Descriptor();
  LaunchFailure failure;
  const bool failed = read_whole(failures_.get(), &failure, sizeof failure) == sizeof failure;
  failures_ = Descriptor();
  if (failed) return launch_->explain(failure);
  return Done{};
}

// Looked at and left where it is: the line stays readable, however often somebody asks.
std::optional<TreeExit> Keeper::command_exit() const {
  KeeperMessage message;
  const ssize_t count = ::recv(line_.get(), &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
  if (count == static_cast<ssize_t>(sizeof message)) return to_exit(message);
  if (count < 0) return std::nullopt;
  // Somebody ended the keeper. The command got SIGTERM; how it ended nobody knows.
  constexpr int unknown = 255;
  return TreeExit{unknown, std::nullopt, false};
}

Status Keeper::send(int signal) const {
  if (command_exit()) return Error{Errc::not_found, "it has ended", ""};
  long failed = -1;
  if (handle_.get() >= 0) {
    failed = ::syscall(SYS_pidfd_send_signal, handle_.get(), signal, nullptr, 0U);
  } else {
    failed = ::kill(command_, signal);
  }
  if (failed == 0) return Done{};
  if (errno == ESRCH) return Error{Errc::not_found, "it has ended", ""};
  return os_error(errno, "sending a signal");
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/scope_holder.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "machine/os_error.h"
#include "machine/tree/close_all.h"

namespace headroom::machine {
namespace {

// Its owner may have threads: nothing here takes memory or a lock.
[[noreturn]] void hold(int line) {
  // A signal to our process group, or to the whole scope, means the command.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "headroom-holder");
  close_all_but(line);
  char word = 0;
  while (::read(line, &word, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

Result<ScopeHolder> ScopeHolder::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return os_error(errno, "making a line to a process");
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return os_error(errno, "starting another process");
  if (pid == 0) hold(theirs.get());
  return ScopeHolder(std::move(ours), pid);
}

ScopeHolder::ScopeHolder(ScopeHolder&& other) noexcept
    : line_(std::move(other.line_)), pid_(std::exchange(other.pid_, -1)) {}

ScopeHolder::~ScopeHolder() {
  if (pid_ < 0) return;
  line_ = Descriptor();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace headroom::machine

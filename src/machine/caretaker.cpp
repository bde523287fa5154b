// SPDX-License-Identifier: Apache-2.0
#include "machine/caretaker.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <climits>

#include "machine/remove_tree.h"
#include "machine/sweep.h"

namespace headroom::machine {
namespace {

void close_from_to(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  // Before Linux 5.9.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = std::min<rlim_t>(last, std::min<rlim_t>(limit.rlim_cur, 1U << 20U));
  for (rlim_t fd = first; fd <= end; ++fd) ::close(static_cast<int>(fd));
}

// Else a pipe that somebody reads would stay open, and so would another caretaker's line.
void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) close_from_to(0, low - 1);
  close_from_to(low + 1, high - 1);
  close_from_to(high + 1, UINT_MAX);
}

// The child's whole life. Its owner may have had threads: nothing here takes memory or a lock.
[[noreturn]] void wait_and_remove(int line, int folder, const char* name, const char* stale) {
  ::setsid();
  ::prctl(PR_SET_NAME, "headroom-tidy");
  close_all_but(line, folder);
  if (::chdir("/") != 0) ::_exit(1);
  if (*stale != 0) sweep(folder, stale);
  char word = 0;  // Its owner is done, or its owner is dead: all the same.
  while (::read(line, &word, 1) < 0 && errno == EINTR) {
  }
  ::_exit(remove_tree(folder, name) ? 0 : 1);
}

}  // namespace

Caretaker::Caretaker(int folder, std::string name, const std::string& stale)
    : folder_(folder), name_(std::move(name)) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // The child keeps it so.
  child_ = ::fork();
  if (child_ == 0) wait_and_remove(theirs.get(), folder_, name_.c_str(), stale.c_str());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child_ > 0) line_ = std::move(ours);
}

// Says so instead of closing its end alone, of which a child of ours may have a copy.
bool Caretaker::child_removed() {
  if (child_ <= 0) return false;
  const char word = 0;
  ::send(line_.get(), &word, 1, MSG_NOSIGNAL);
  line_ = Descriptor();
  int status = -1;
  while (::waitpid(child_, &status, 0) < 0) {
    if (errno != EINTR) return false;  // Somebody else has waited for it.
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Caretaker::~Caretaker() {
  if (!child_removed()) remove_tree(folder_, name_.c_str());
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::size_t kept_bytes = std::size_t{64} << 10U;

class Tail {
 public:
  void add(std::string_view piece) {
    text_ += piece;
    if (text_.size() > 4 * kept_bytes) cut();
  }
  std::string take() {
    cut();
    return std::move(text_);
  }

 private:
  // To whole lines, where that leaves any.
  void cut() {
    if (text_.size() <= kept_bytes) return;
    const std::size_t start = text_.size() - kept_bytes;
    const std::size_t line = text_[start - 1] == '\n' ? start : text_.find('\n', start) + 1;
    text_.erase(0, line > start && line < text_.size() ? line : start);
  }

  std::string text_;
};

// Reads what is there now; true when there will be no more.
bool drain(int output, Tail& tail) {
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t count = ::read(output, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno != EAGAIN;
    if (count == 0) return true;
    tail.add({piece.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace

Result<ProgramOutput> wait_for_output(pid_t child, int output, const std::string& name) {
  // A kernel or a container without pidfd_open leaves -1, which poll passes over: then the end of
  // the output is waited for.
  const Descriptor ends(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  Tail tail;
  std::array<pollfd, 2> watched{{{output, POLLIN, 0}, {ends.get(), POLLIN, 0}}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
    if (watched[1].fd >= 0 && watched[1].revents != 0) {
      drain(output, tail);  // After the end: all that it said itself is in the pipe.
      break;
    }
    if (watched[0].revents != 0 && drain(output, tail)) watched[0].fd = -1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return os_error(errno, "waiting for " + name);
  }
  return ProgramOutput{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
                       tail.take()};
}

}  // namespace headroom::machine

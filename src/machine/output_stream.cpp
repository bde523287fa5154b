// SPDX-License-Identifier: Apache-2.0
#include "machine/output_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

#include "machine/write_all.h"

namespace headroom::machine {
namespace {

// While one exists, SIGPIPE neither ends this process nor is left behind: programs started later
// would inherit it if it were ignored instead.
class PipeSignalHeld {
 public:
  PipeSignalHeld() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigset_t pending{};
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~PipeSignalHeld() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&set_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

bool is_closed(int fd) {
  return ::fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

// open() takes the lowest number that is free, which is `fd` once those below it are filled. Not
// closed on exec: programs that we start should find something there as well. Of a root without
// devices the folder itself has to do.
bool fill_if_closed(int fd, int flags) {
  if (!is_closed(fd)) return false;
  int got = ::open("/dev/null", flags | O_NOCTTY);
  if (got < 0) got = ::open("/", O_RDONLY | O_DIRECTORY);
  if (got >= 0 && got != fd) {
    ::dup2(got, fd);
    ::close(got);
  }
  return true;
}

}  // namespace

StandardDescriptors fill_standard_descriptors() {
  fill_if_closed(STDIN_FILENO, O_WRONLY);  // Reading fails there, as from what is closed.
  StandardDescriptors were;
  were.output_was_closed = fill_if_closed(STDOUT_FILENO, O_WRONLY);
  were.errors_were_closed = fill_if_closed(STDERR_FILENO, O_WRONLY);
  return were;
}

void OutputStream::write(std::string_view bytes) {
  if (problem_ || bytes.empty()) return;
  if (was_closed_) {
    problem_ = "it is closed";
    return;
  }
  std::optional<PipeSignalHeld> held;
  if (outlives_) held.emplace();
  has_written_ = true;
  const int number = write_all(fd_, bytes);
  if (number != 0) problem_ = std::generic_category().message(number);
}

// close(2): errors of writes before may come only then, and come at the close of any copy.
void OutputStream::flush() {
  if (problem_ || !has_written_) return;
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) == 0 || errno == EINTR) return;
  problem_ = std::generic_category().message(errno);
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/told_by_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "machine/bounded_call.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::allocator {
namespace {

struct Pipe {
  machine::Descriptor ours, theirs;
};

// Neither end waits: the child goes on where nobody reads, and we read what is there by then.
Result<Pipe> make_pipe(const std::string& doing) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return machine::os_error(errno, doing);
  return Pipe{machine::Descriptor(ends[0]), machine::Descriptor(ends[1])};
}

// All that is in the pipe. It may have other writers that never end, so the end is not waited for.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// The child is in a process group of its own, which no ^C of a terminal reaches.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // It was gone before that.
}

void leave_no_core() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

}  // namespace

void Teller::tell(std::string_view line) const {
  const std::string whole = std::string(line) + "\n";
  // A reader that is gone, or a pipe that is full: the parent then knows less, no more than that.
  [[maybe_unused]] const ssize_t written = ::write(fd_, whole.data(), whole.size());
}

Result<ToldByChild> ask_child(const std::function<Status(const Teller&)>& work,
                              std::uint64_t timeout_ms, const std::string& doing) {
  HEADROOM_TRY(const Pipe told, make_pipe(doing));
  HEADROOM_TRY(const Pipe said, make_pipe(doing));
  const pid_t parent = ::getpid();
  Status ended = machine::call_bounded(
      [&] {
        end_with(parent);
        leave_no_core();
        for (const int output : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(said.theirs.get(), output);
        return work(Teller(told.theirs.get()));
      },
      timeout_ms, doing);
  return ToldByChild{std::move(ended), read_all(told.ours.get()),
                     last_line(read_all(said.ours.get()))};
}

}  // namespace headroom::allocator

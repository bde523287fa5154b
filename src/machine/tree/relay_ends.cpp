// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/relay_ends.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr int kcmp_file = 0;   // KCMP_FILE of linux/kcmp.h: the same open file description.
constexpr int first_free = 3;  // 0 to 2 are the standard streams, closed ones too.

Descriptor lift(int fd) {
  Descriptor low(fd);
  if (fd < 0 || fd >= first_free) return low;
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, first_free));
}

Error failed(const char* doing) {
  return os_error(errno, doing);
}

}  // namespace

Result<RelayEnds> make_pipe_ends() {
  // Twice what is read at once. Larger ones are slower: their pages leave the processor's cache
  // before they are read.
  constexpr int pipe_bytes = 256 << 10;
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_CLOEXEC) != 0) return failed("making a pipe for a command's output");
  RelayEnds ends{lift(both[0]), lift(both[1])};
  if (ends.reading.get() < 0 || ends.writing.get() < 0)
    return failed("making a pipe for a command's output");
  ::fcntl(ends.reading.get(), F_SETPIPE_SZ, pipe_bytes);  // Refused, it is a smaller one.
  ::fcntl(ends.reading.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

Result<RelayEnds> make_terminal_ends(int like) {
  const char* doing = "making a terminal for a command's output";
  RelayEnds ends{lift(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), Descriptor(), true};
  const int reading = ends.reading.get();
  if (reading < 0 || ::grantpt(reading) != 0 || ::unlockpt(reading) != 0) return failed(doing);
  std::array<char, 64> name{};
  if (::ptsname_r(reading, name.data(), name.size()) != 0) return failed(doing);
  ends.writing = lift(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (ends.writing.get() < 0) return failed(doing);
  termios settings{};
  if (::tcgetattr(ends.writing.get(), &settings) != 0) return failed(doing);
  ::cfmakeraw(&settings);  // What is to be done with the bytes, the terminal behind it does.
  if (::tcsetattr(ends.writing.get(), TCSANOW, &settings) != 0) return failed(doing);
  copy_terminal_size(like, reading);
  ::fcntl(reading, F_SETFL, O_NONBLOCK);
  return ends;
}

bool is_open_terminal(int fd) {
  return ::isatty(fd) == 1;
}

bool is_same_stream(int one, int other) {
  struct stat first {};
  struct stat second {};
  if (::fstat(one, &first) != 0 || ::fstat(other, &second) != 0) return false;
  const bool is_one_file = first.st_rdev == second.st_rdev && first.st_ino == second.st_ino &&
                           first.st_dev == second.st_dev;
  if (!is_one_file || S_ISFIFO(first.st_mode) || S_ISSOCK(first.st_mode)) return is_one_file;
  if (!S_ISREG(first.st_mode)) return is_open_terminal(one) && is_open_terminal(other);
  // Opened twice, a file has two places where the next byte goes. A kernel that may not be asked
  // (kcmp(2) needs the right to trace) leaves it at two streams.
  return ::syscall(SYS_kcmp, ::getpid(), ::getpid(), kcmp_file, one, other) == 0;
}

bool copy_terminal_size(int like, int reading) {
  winsize wanted{};
  winsize now{};
  if (::ioctl(like, TIOCGWINSZ, &wanted) != 0 || ::ioctl(reading, TIOCGWINSZ, &now) != 0)
    return false;
  const bool is_same = wanted.ws_row == now.ws_row && wanted.ws_col == now.ws_col &&
                       wanted.ws_xpixel == now.ws_xpixel && wanted.ws_ypixel == now.ws_ypixel;
  return !is_same && ::ioctl(reading, TIOCSWINSZ, &wanted) == 0;
}

}  // namespace headroom::machine

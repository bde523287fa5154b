// SPDX-License-Identifier: Apache-2.0
#include "machine/standard_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "machine/os_error.h"

namespace headroom::machine {

Result<std::string> read_standard_input(std::size_t limit) {
  const std::string doing = "reading standard input";
  std::string text;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(count));
      if (text.size() > limit)
        return Error{Errc::invalid, fmt::format("{}: longer than {} bytes", doing, limit), ""};
    } else if (errno == EAGAIN) {
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return os_error(errno, doing);
    } else if (errno != EINTR) {
      return os_error(errno, doing);
    }
  }
}

}  // namespace headroom::machine

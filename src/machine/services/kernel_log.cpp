// SPDX-License-Identifier: Apache-2.0
#include "machine/services/kernel_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"

namespace headroom::machine {

KernelLog::KernelLog() : file_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (file_.get() >= 0) ::lseek(file_.get(), 0, SEEK_END);
}

// Each read(2) is one record: "priority,number,microseconds,flags;text", then lines that begin with
// a blank and tell the device.
std::string KernelLog::read_new() {
  std::string text;
  std::array<char, 8192> record;
  constexpr std::size_t most = std::size_t{1} << 20U;
  while (file_.get() >= 0 && text.size() < most) {
    const ssize_t count = ::read(file_.get(), record.data(), record.size());
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;  // Some were overwritten.
    if (count <= 0) break;
    const std::string_view whole(record.data(), static_cast<std::size_t>(count));
    const std::size_t body = whole.find(';');
    const auto head = split(whole.substr(0, body), ',');
    if (body == std::string_view::npos || head.size() < 3) continue;
    const std::uint64_t us = parse_u64(head[2]).value_or(0);
    const std::string_view line = whole.substr(body + 1);
    text += fmt::format("[{:5}.{:06}] {}\n", us / 1'000'000, us % 1'000'000,
                        line.substr(0, line.find('\n')));
  }
  return text;
}

}  // namespace headroom::machine

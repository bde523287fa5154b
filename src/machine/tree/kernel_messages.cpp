// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/kernel_messages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::size_t most_at_once = 1000;
constexpr std::size_t longest_record = 8192;  // CONSOLE_EXT_LOG_MAX of kernel/printk/printk.c.

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// "\x0a" is how the kernel writes what cannot be printed, and the backslash itself.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
                           hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0;
    if (!is_escape) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3])));
    i += 3;
  }
  return plain;
}

// Takes what stands before the next comma.
std::string_view take_field(std::string_view& fields) {
  const std::size_t comma = fields.find(',');
  const std::string_view field = fields.substr(0, comma);
  fields.remove_prefix(comma == std::string_view::npos ? fields.size() : comma + 1);
  return field;
}

}  // namespace

bool parse_kernel_record(std::string_view record, KernelMessage& message) {
  const std::size_t start = record.find(';');
  if (start == std::string_view::npos) return false;
  std::string_view fields = record.substr(0, start);
  const auto priority = parse_u64(take_field(fields));
  take_field(fields);  // Its number.
  const auto time_us = parse_u64(take_field(fields));
  constexpr std::uint64_t levels = 8;  // The facility stands above them; the kernel's is 0.
  if (!priority || !time_us || *priority >= levels) return false;
  message.monotonic_us = *time_us;
  const std::string_view rest = record.substr(start + 1);
  message.text = unescape(rest.substr(0, rest.find('\n')));
  return true;
}

Result<KernelMessages> KernelMessages::open() {
  Descriptor file(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return os_error(errno, "opening /dev/kmsg");
  if (::lseek(file.get(), 0, SEEK_END) < 0) return os_error(errno, "going to the end of /dev/kmsg");
  return KernelMessages(std::move(file));
}

std::vector<KernelMessage> KernelMessages::next() {
  std::vector<KernelMessage> found;
  std::array<char, longest_record> record;
  for (std::size_t i = 0; i < most_at_once; ++i) {
    const ssize_t count = ::read(file_.get(), record.data(), record.size());
    // EPIPE: records were overwritten before they were read; the next read goes on behind them.
    if (count < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (count <= 0) break;
    KernelMessage message;
    if (parse_kernel_record({record.data(), static_cast<std::size_t>(count)}, message))
      found.push_back(std::move(message));
  }
  return found;
}

std::string KernelMessages::to_line(const KernelMessage& message) {
  return fmt::format("[{:5}.{:06}] {}", message.monotonic_us / 1'000'000,
                     message.monotonic_us % 1'000'000, message.text);
}

}  // namespace headroom::machine

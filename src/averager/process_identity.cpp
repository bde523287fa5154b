// SPDX-License-Identifier: Apache-2.0
#include "averager/process_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "machine/descriptor.h"

namespace headroom::averager {
namespace {

struct Stat {
  char state = 0;
  std::uint64_t started = 0;
};

// The name of a program stands in parentheses and may hold any character, so fields count from the
// last one that closes.
std::optional<Stat> parse_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  Stat stat{.state = text.front()};
  constexpr int fields_to_start = 19;  // Field 3 is the first here, the start is field 22.
  for (int field = 0; field < fields_to_start; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    text.remove_prefix(space + 1);
  }
  const auto read = std::from_chars(text.data(), text.data() + text.size(), stat.started);
  if (read.ec != std::errc()) return std::nullopt;
  return stat;
}

std::optional<Stat> read_stat(std::uint64_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const machine::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::array<char, 1024> text = {};
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  return parse_stat({text.data(), static_cast<std::size_t>(length)});
}

}  // namespace

ProcessIdentity own_identity() {
  const auto pid = static_cast<std::uint64_t>(::getpid());
  const auto stat = read_stat(pid);
  return {.pid = pid, .started = stat ? stat->started : 0};
}

bool is_running(const ProcessIdentity& process) {
  const auto stat = read_stat(process.pid);
  return stat && stat->started == process.started && stat->state != 'Z' && stat->state != 'X';
}

std::uint64_t pid_namespace() {
  struct stat status = {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace headroom::averager

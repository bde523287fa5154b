// SPDX-License-Identifier: Apache-2.0
#include "machine/lock_holders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "machine/each_entry.h"

namespace headroom::machine {
namespace {

// A file of /proc that is short; "" where it cannot be read.
std::string read_short(int folder, const std::string& name) {
  const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  std::string all;
  while (file.get() >= 0 && all.size() < text.size()) {
    const ssize_t count = ::read(file.get(), text.data(), text.size());
    if (count <= 0) break;
    all.append(text.data(), static_cast<std::size_t>(count));
  }
  return all;
}

// Who took the lock that one descriptor holds; 0: it has ended; nullopt: it holds none. proc(5),
// fdinfo: "lock:\t1: FLOCK  ADVISORY  WRITE 8899 fe:00:10953044 0 EOF".
std::optional<std::uint64_t> taker_in(const std::string& about) {
  constexpr std::size_t taker = 4;
  for (const std::string_view line : split_lines(about)) {
    if (!line.starts_with("lock:")) continue;
    const auto words = split_words(line.substr(5));
    if (words.size() > taker && words[1] == "FLOCK") return parse_u64(words[taker]).value_or(0);
  }
  return std::nullopt;
}

std::string command_of(int process) {
  std::string words = read_short(process, "cmdline");
  while (words.ends_with('\0')) words.pop_back();
  if (words.empty()) words = std::string(trim(read_short(process, "comm")));
  // The NULs between words, and whatever else would not be one line.
  std::replace_if(
      words.begin(), words.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  return words;
}

// Whether the process holds a lock on the file, and who took that one.
std::optional<std::uint64_t> taker_of(int process, const struct stat& file) {
  std::optional<std::uint64_t> taker;
  Descriptor folder(::openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return taker;
  each_entry(std::move(folder), [&](int fds, const dirent& entry) {
    struct stat open {};
    if (taker || ::fstatat(fds, entry.d_name, &open, 0) != 0) return;
    if (open.st_dev != file.st_dev || open.st_ino != file.st_ino) return;
    taker = taker_in(read_short(process, fmt::format("fdinfo/{}", entry.d_name)));
  });
  return taker;
}

}  // namespace

std::vector<LockHolder> find_lock_holders(int fd) {
  std::vector<LockHolder> holders;
  struct stat file {};
  Descriptor processes(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (processes.get() < 0 || ::fstat(fd, &file) != 0) return holders;
  each_entry(std::move(processes), [&](int folder, const dirent& entry) {
    const auto pid = parse_u64(entry.d_name);
    if (!pid) return;
    const Descriptor process(::openat(folder, entry.d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (process.get() < 0) return;
    if (const auto taker = taker_of(process.get(), file)) {
      holders.push_back({*pid, command_of(process.get()), *taker == *pid});
    }
  });
  std::sort(holders.begin(), holders.end(),
            [](const LockHolder& a, const LockHolder& b) { return a.pid < b.pid; });
  return holders;
}

std::string describe(const std::vector<LockHolder>& holders) {
  if (holders.empty()) return "another process";
  std::vector<std::string> words;
  for (const LockHolder& holder : holders) {
    const std::string command = holder.command.empty() ? "a program" : holder.command;
    words.push_back(fmt::format("{} (process {})", command, holder.pid));
  }
  return join(words, ", ");
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/group_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/each_entry.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::string_view prefix = "headroom-run-";

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> found;
  Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.get() < 0) return found;
  each_entry(std::move(open), [&](int, const dirent& entry) {
    if (entry.d_type == DT_DIR) found.push_back(fmt::format("{}/{}", folder, &entry.d_name[0]));
  });
  return found;
}

// From the innermost to this one. Returns an errno, or 0.
int remove_with_inner(const std::string& folder) {
  for (const std::string& inner : folders_in(folder)) remove_with_inner(inner);
  return ::rmdir(folder.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::optional<std::string> read_group_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

Status write_group_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool written = file.get() >= 0 && ::write(file.get(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  if (!written) return os_error(errno, fmt::format("writing {} to {}", text, path));
  return Done{};
}

std::vector<pid_t> read_group_processes(const std::string& folder) {
  std::vector<pid_t> found;
  const std::string text = read_group_file(folder + "/cgroup.procs").value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto pid = parse_u64(trim(line));
    if (pid && *pid != 0) found.push_back(static_cast<pid_t>(*pid));  // 0: of another namespace.
  }
  for (const std::string& inner : folders_in(folder)) {
    const std::vector<pid_t> more = read_group_processes(inner);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

Result<GroupFolder> GroupFolder::make(const std::string& parent, const std::string& name) {
  std::string path = fmt::format("{}/{}", parent, name);
  constexpr mode_t mode = 0755;
  if (::mkdir(path.c_str(), mode) != 0) return os_error(errno, "making " + path);
  return GroupFolder(std::move(path), true);
}

GroupFolder::GroupFolder(GroupFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), is_ours_(std::exchange(other.is_ours_, false)) {}

// What has just ended may keep it busy for a moment.
GroupFolder::~GroupFolder() {
  if (!is_ours_) return;
  constexpr int most_tries = 100;
  constexpr std::uint64_t pause_ms = 5;
  for (int i = 0; i < most_tries && remove_with_inner(path_) == EBUSY; ++i) {
    if (!processes().empty() && i > most_tries / 10) return;
    sleep_ms(pause_ms);
  }
}

std::optional<std::string> GroupFolder::read(std::string_view file) const {
  return read_group_file(fmt::format("{}/{}", path_, file));
}

std::optional<Bytes> GroupFolder::read_bytes(std::string_view file) const {
  const auto number = parse_u64(trim(read(file).value_or("")));
  if (!number) return std::nullopt;
  return Bytes{*number};
}

std::optional<std::uint64_t> GroupFolder::read_key(std::string_view file,
                                                   std::string_view key) const {
  const std::string text = read(file).value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == key) return parse_u64(words[1]);
  }
  return std::nullopt;
}

Status GroupFolder::write(std::string_view file, std::string_view text) const {
  return write_group_file(fmt::format("{}/{}", path_, file), text);
}

Status GroupFolder::add(pid_t process) const {
  return write("cgroup.procs", std::to_string(process));
}

std::vector<pid_t> GroupFolder::processes() const {
  return read_group_processes(path_);
}

std::string make_group_name() {
  return fmt::format("{}{}-{:x}", prefix, ::getpid(), monotonic_ns());
}

void sweep_groups(const std::string& parent) {
  for (const std::string& folder : folders_in(parent)) {
    const std::string_view name = std::string_view(folder).substr(parent.size() + 1);
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    const auto pid = parse_u64(rest.substr(0, rest.find('-')));
    if (!pid || *pid == 0 || ::kill(static_cast<pid_t>(*pid), 0) == 0 || errno != ESRCH) continue;
    remove_with_inner(folder);  // The kernel refuses it where a process is left.
  }
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "trainer/output_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "machine/os_error.h"
#include "machine/process_handle.h"
#include "machine/user_files.h"

namespace headroom::trainer {
namespace {

constexpr const char* first_line = "headroom.lock/1";
constexpr std::size_t longest_text = 1024;
constexpr std::size_t longest_command = 160;

struct Holder {
  std::uint64_t pid = 0;
  std::string host;
  std::string command;
};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// On one line, and nothing that a terminal would obey.
std::string as_line(std::string text, std::size_t longest) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  const bool is_long = text.size() > longest;
  text = text.substr(0, longest);
  std::replace(text.begin(), text.end(), '\0', ' ');
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return is_long ? text + " …" : text;
}

std::string own_text() {
  const std::string command = machine::read_file("/proc/self/cmdline").value_or("");
  return fmt::format("{}\n{}\n{}\n{}\n", first_line, machine::own_pid(),
                     as_line(host_name(), longest_command), as_line(command, longest_command));
}

std::string read_text(int file) {
  std::string text(longest_text, '\0');
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

// Nothing where the one who wrote it has ended: who has the lock now has not written yet. Processes
// of other machines are not seen from here.
std::optional<Holder> parse_holder(const std::string& text) {
  const std::vector<std::string_view> lines = split_lines(text);
  if (lines.size() < 4 || lines[0] != first_line) return std::nullopt;
  const auto pid = parse_u64(lines[1]);
  if (!pid || *pid == 0 || *pid > 0x7fffffff) return std::nullopt;
  Holder holder{*pid, as_line(std::string(lines[2]), longest_command),
                as_line(std::string(lines[3]), longest_command + 8)};
  const bool is_here = holder.host == as_line(host_name(), longest_command);
  if (is_here && ::kill(static_cast<pid_t>(holder.pid), 0) != 0 && errno == ESRCH)
    return std::nullopt;
  if (is_here) holder.host.clear();
  return holder;
}

Error held(const std::string& folder, const std::string& text) {
  const auto holder = parse_holder(text);
  const std::string who =
      holder ? fmt::format("process {}{} does ({})", holder->pid,
                           holder->host.empty() ? "" : " on " + holder->host, holder->command)
             : "another process does";
  return {Errc::busy,
          fmt::format("expected nobody else to be writing into {}, found that {}", folder, who),
          "wait until it has ended and run the same command again, or name another folder with "
          "--output"};
}

Error failed(const std::string& path) {
  Error error = machine::os_error(errno, "making " + path);
  error.next = error.code == Errc::no_space
                   ? "free space there, or choose another folder with --output"
                   : "choose a folder you may write to with --output";
  return error;
}

// A file of somebody else's is not ours to lock and to remove.
Status check_is_lock(int file, const std::string& path) {
  struct stat found {};
  if (::fstat(file, &found) != 0) return failed(path);
  const std::string text = S_ISREG(found.st_mode) ? read_text(file) : "";
  if (S_ISREG(found.st_mode) && (text.empty() || text.starts_with(first_line))) return Done{};
  return Error{
      Errc::invalid,
      fmt::format("expected nothing or the lock of a run at {}, found something else", path),
      "move it away, or choose another folder with --output"};
}

Result<machine::Descriptor> open_lock(const std::string& path) {
  machine::Descriptor file(::open(
      path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644));
  if (file.get() < 0) return failed(path);
  HEADROOM_CHECK(check_is_lock(file.get(), path));
  return file;
}

bool is_still_there(int file, const std::string& path) {
  struct stat locked {};
  struct stat there {};
  return ::fstat(file, &locked) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

// Best effort: it is only for who finds the lock taken.
void write_text(int file, const std::string& text) {
  if (::ftruncate(file, 0) != 0) return;
  static_cast<void>(::pwrite(file, text.data(), text.size(), 0) < 0);
}

}  // namespace

OutputLock::OutputLock(std::string path, machine::Descriptor file,
                       std::optional<std::string> missing)
    : path_(std::move(path)), file_(std::move(file)), missing_(std::move(missing)) {}

OutputLock::~OutputLock() {
  // While it is ours; then it is closed. Where the folder was moved or the file removed, the one at
  // its place is another run's.
  if (file_.get() >= 0 && is_still_there(file_.get(), path_)) ::unlink(path_.c_str());
}

Result<OutputLock> OutputLock::take(const std::string& folder) {
  const std::string path = folder + "/.headroom.lock";
  for (;;) {
    HEADROOM_TRY(machine::Descriptor file, open_lock(path));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return held(folder, read_text(file.get()));
      const std::string reason = machine::os_error(errno, "locking " + path).message;
      return OutputLock(path, {}, reason);
    }
    // The run before may have removed it between our opening and our locking.
    if (!is_still_there(file.get(), path)) continue;
    write_text(file.get(), own_text());
    return OutputLock(path, std::move(file), std::nullopt);
  }
}

}  // namespace headroom::trainer

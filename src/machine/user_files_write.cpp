// SPDX-License-Identifier: Apache-2.0
// How user files are written.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "machine/descriptor.h"
#include "machine/named_place.h"
#include "machine/os_error.h"
#include "machine/user_files.h"
#include "machine/write_all.h"

namespace headroom::machine {
namespace {

Status write_text(const Descriptor& file, std::string_view text, const std::string& doing) {
  const int number = file.get() < 0 ? errno : write_all(file.get(), text);
  return number == 0 ? Status(Done{}) : os_error(number, doing);
}

// Six letters that nobody can know before.
Result<std::string> random_ending() {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567";
  std::array<unsigned char, 6> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return os_error(errno, "drawing a random name");
  std::string ending = ".";
  for (const unsigned char byte : bytes) ending += letters[byte % letters.size()];
  return ending;
}

// What is there keeps its permissions only where it is ours: nobody prepares a file that all may
// write to, or that runs as its owner, for us to fill. A new one has what the umask leaves.
Status replace(const NamedPlace& place, std::string_view text, std::optional<mode_t> mode,
               const std::string& doing) {
  HEADROOM_TRY(const std::string ending, random_ending());
  const std::string beside = place.name + ending;
  const int folder = place.folder.get();
  constexpr mode_t usual_mode = 0666;
  const Descriptor file(::openat(folder, beside.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 mode ? 0600 : usual_mode));
  if (file.get() < 0) return os_error(errno, doing);
  Status written = write_text(file, text, doing);
  if (written && ::fsync(file.get()) != 0) written = os_error(errno, doing);
  if (written && mode && ::fchmod(file.get(), *mode) != 0) written = os_error(errno, doing);
  if (written && ::renameat(folder, beside.c_str(), folder, place.name.c_str()) != 0)
    written = os_error(errno, doing);
  if (!written) {
    ::unlinkat(folder, beside.c_str(), 0);
    return written;
  }
  // The rename itself is on disk once the folder is.
  const Descriptor synced(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (synced.get() < 0 || ::fsync(synced.get()) != 0) return os_error(errno, doing);
  return Done{};
}

// In a folder that all may write to, somebody else's pipe may lie where a file was meant.
bool is_strangers_pipe(const struct stat& status, const NamedPlace& place) {
  struct stat folder {};
  return S_ISFIFO(status.st_mode) && status.st_uid != ::geteuid() && status.st_uid != 0 &&
         ::fstat(place.folder.get(), &folder) == 0 && (folder.st_mode & S_IWOTH) != 0;
}

}  // namespace

Status write_file_atomic(const std::string& path, std::string_view text) {
  const std::string doing = "writing " + path;
  HEADROOM_TRY(const NamedPlace place, find_named_place(path));
  if (place.own_descriptor)
    return write_text(Descriptor(::fcntl(*place.own_descriptor, F_DUPFD_CLOEXEC, 3)), text, doing);
  const int folder = place.folder.get();
  const char* name = place.name.c_str();
  struct stat status {};
  const int follows = place.is_of_proc ? 0 : AT_SYMLINK_NOFOLLOW;
  if (::fstatat(folder, name, &status, follows) != 0) {
    if (errno == ENOENT) return replace(place, text, std::nullopt, doing);
    return os_error(errno, doing);
  }
  if (S_ISDIR(status.st_mode))
    return Error{Errc::invalid, doing + ": expected a file, found a folder", ""};
  if (S_ISREG(status.st_mode) && !place.is_of_proc) {
    const bool is_ours = status.st_uid == ::geteuid();
    return replace(place, text, is_ours ? std::optional(status.st_mode & 0777U) : std::nullopt,
                   doing);
  }
  if (is_strangers_pipe(status, place))
    return Error{Errc::no_permission, doing + ": it is a pipe of another user", ""};
  // A device or a pipe is written to as it stands: a rename would put a file in its place, and root
  // would have no /dev/null any more. A pipe without a reader is an error, not a wait.
  const int no_link = place.is_of_proc ? 0 : O_NOFOLLOW;
  return write_text(
      Descriptor(::openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | no_link)),
      text, doing);
}

}  // namespace headroom::machine

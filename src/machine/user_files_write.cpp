// SPDX-License-Identifier: Apache-2.0
// How user files are written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "machine/descriptor.h"
#include "machine/os_error.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

Status write_all(int fd, std::string_view text, const std::string& doing) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, doing);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return Done{};
}

// The rename itself is on disk once the folder is.
Status sync_folder_of(const std::string& path, const std::string& doing) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return os_error(errno, doing);
  return Done{};
}

// A device or a pipe is written to as it stands: a rename would put a file in its place, and root
// would have no /dev/null any more. A pipe without a reader is an error, not a wait.
Status write_into(const std::string& path, std::string_view text, const std::string& doing) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) return os_error(errno, doing);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return os_error(errno, doing);
  return write_all(file.get(), text, doing);
}

// Where a link leads, so that the link stays one.
std::string behind_links(const std::string& path) {
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  return real ? std::string(real.get()) : path;
}

Status replace(const std::string& path, std::string_view text, mode_t mode,
               const std::string& doing) {
  std::string beside = path + ".XXXXXX";
  const Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (file.get() < 0) return os_error(errno, doing);
  Status written = write_all(file.get(), text, doing);
  if (written && ::fsync(file.get()) != 0) written = os_error(errno, doing);
  if (written && ::fchmod(file.get(), mode) != 0) written = os_error(errno, doing);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = os_error(errno, doing);
  if (!written) {
    ::unlink(beside.c_str());
    return written;
  }
  return sync_folder_of(path, doing);
}

}  // namespace

Status write_file_atomic(const std::string& path, std::string_view text) {
  const std::string doing = "writing " + path;
  constexpr mode_t usual_mode = 0644;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return replace(path, text, usual_mode, doing);
    return os_error(errno, doing);
  }
  if (S_ISDIR(status.st_mode))
    return Error{Errc::invalid, doing + ": expected a file, found a folder", ""};
  if (!S_ISREG(status.st_mode)) return write_into(path, text, doing);
  return replace(behind_links(path), text, status.st_mode & 07777U, doing);
}

}  // namespace headroom::machine

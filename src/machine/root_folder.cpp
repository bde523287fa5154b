// SPDX-License-Identifier: Apache-2.0
#include "machine/root_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

// openat2 refuses O_PATH together with flags that say how to read.
int with_care(int flags) {
  return flags | ((flags & O_PATH) != 0 ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// Where a path goes through "..", the kernel answers EAGAIN if anything on the machine was renamed
// or mounted meanwhile, and asks to be asked again (openat2(2)). On a busy machine that happens.
int open_confined(int root, const std::string& name, int flags, std::uint64_t resolve) {
  constexpr int tries_max = 10'000;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(with_care(flags));
  how.resolve = resolve;
  for (int tries = 1;; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, name.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN || tries == tries_max) return -errno;
  }
}

bool is_system_root(int fd) {
  struct stat root {};
  struct stat given {};
  return ::stat("/", &root) == 0 && ::fstat(fd, &given) == 0 && root.st_dev == given.st_dev &&
         root.st_ino == given.st_ino;
}

}  // namespace

std::string relative(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? "." : std::string(path);
}

std::string without_dots(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return join(parts, "/");
}

std::string absolute(std::string_view path) {
  const std::string rest = relative(path);
  return rest == "." ? "/" : "/" + rest;
}

Result<RootFolder> RootFolder::open(const std::string& root) {
  RootFolder made;
  made.folder_ = Descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (made.get() < 0) return os_error(errno, "opening " + root);
  made.real_ = is_system_root(made.get());
  const Descriptor probe(made.open_path("/", O_PATH));
  if (probe.get() < 0) return os_error(-probe.get(), "opening " + root);
  return made;
}

int RootFolder::open_path(std::string_view path, int flags) const {
  if (path.find('\0') != std::string_view::npos) return -EINVAL;  // The kernel would see less.
  const std::string name = relative(path);
  if (!real_) return open_confined(get(), name, flags, RESOLVE_IN_ROOT);
  const int fd = ::openat(get(), name.c_str(), with_care(flags));
  return fd >= 0 ? fd : -errno;
}

int RootFolder::open_resolved(std::string_view path, int flags) const {
  if (path.find('\0') != std::string_view::npos) return -EINVAL;
  const int fd = open_confined(get(), relative(path), flags, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
  // Of this system's kernels and containers some lack openat2; then at least the end is no link.
  const bool lacking = real_ && (fd == -ENOSYS || fd == -EPERM);
  return lacking ? open_path(path, flags | O_NOFOLLOW) : fd;
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/sweep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "machine/each_name.h"
#include "machine/remove_tree.h"

namespace headroom::machine {
namespace {

constexpr int open_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

bool is_named(int folder, const char* name, int fd) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Other users may put names into a shared folder: what is not wholly ours is left alone.
bool is_ours_alone(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & 0777U) == 0700;
}

}  // namespace

void sweep(int folder, std::string_view beginning) {
  each_name(folder, [&](const char* name) {
    if (!std::string_view(name).starts_with(beginning)) return;
    const Descriptor found(::openat(folder, name, open_flags));
    if (found.get() < 0 || !is_ours_alone(found.get())) return;
    if (::flock(found.get(), LOCK_EX | LOCK_NB) != 0) return;  // Its owner lives.
    remove_tree(folder, name);
  });
}

Descriptor make_locked_folder(int folder, const char* name) {
  constexpr int tries_max = 10;
  for (int tries = 0; tries < tries_max; ++tries) {
    if (::mkdirat(folder, name, 0700) != 0) return Descriptor();
    Descriptor made(::openat(folder, name, open_flags));
    // Where locks are not to be had nobody sweeps.
    if (made.get() >= 0) ::flock(made.get(), LOCK_EX);
    // Somebody who sweeps may have come in between: then it is made once more.
    if (made.get() >= 0 && is_named(folder, name, made.get())) return made;
  }
  errno = EBUSY;
  return Descriptor();
}

}  // namespace headroom::machine

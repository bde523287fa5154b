// SPDX-License-Identifier: Apache-2.0
// The changes of WritableFiles that need no temporary: removing, folders, the kernel's own files,
// the lock.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "machine/acts_when_read.h"
#include "machine/file_attributes.h"
#include "machine/lock_holders.h"
#include "machine/os_error.h"
#include "machine/writable_files.h"

namespace headroom::machine {

Status WritableFiles::before(std::string_view operation, std::string_view path) const {
  return hook_ ? hook_(operation, path) : Status(Done{});
}

Result<WritableFiles::Place> WritableFiles::place_of(std::string_view path) const {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::string whole = absolute(path);
  const std::size_t slash = whole.rfind('/');
  Place place;
  place.name = whole.substr(slash + 1);
  if (place.name.empty() || place.name == "." || place.name == ".." ||
      path.find('\0') != std::string_view::npos) {
    return Error{Errc::invalid,
                 fmt::format("expected the path of a file to change, found \"{}\"", path), ""};
  }
  HEADROOM_TRY(place.folder_path, resolve(whole.substr(0, slash)));
  place.path = (place.folder_path == "/" ? "/" : place.folder_path + "/") + place.name;
  if (acts_when_read(place.path)) {
    return Error{Errc::unsupported,
                 fmt::format("changing {}: refused, because it acts", place.path), ""};
  }
  place.folder = Descriptor(root_.open_resolved(place.folder_path, O_RDONLY | O_DIRECTORY));
  if (place.folder.get() < 0) {
    return os_error(-place.folder.get(), "opening the folder " + place.folder_path);
  }
  return place;
}

Result<std::optional<WritableFiles::Place>> WritableFiles::place_if_there(
    std::string_view path) const {
  auto place = place_of(path);
  if (place) return std::optional(*std::move(place));
  if (place.error().code == Errc::not_found) return std::optional<Place>();
  return std::move(place).error();
}

Status WritableFiles::sync_folder(const Place& place) const {
  HEADROOM_CHECK(before("sync-folder", place.folder_path));
  // EINVAL: a file system that has no such thing, and needs none.
  if (::fsync(place.folder.get()) != 0 && errno != EINVAL) {
    return os_error(errno, "bringing the folder " + place.folder_path + " to disk");
  }
  return Done{};
}

Status WritableFiles::remove(std::string_view path) {
  HEADROOM_TRY(const auto place, place_if_there(path));
  if (!place) return Done{};
  struct stat status {};
  if (::fstatat(place->folder.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    HEADROOM_CHECK(before("remove", place->path));
    if (::unlinkat(place->folder.get(), place->name.c_str(), 0) != 0 && errno != ENOENT) {
      return os_error(errno, "removing " + place->path);
    }
  } else if (errno != ENOENT) {
    return os_error(errno, "looking at " + place->path);
  }
  return sync_folder(*place);  // Also if it was gone: whoever removed it may not have come so far.
}

Status WritableFiles::make_folder(std::string_view path, std::uint32_t mode) {
  HEADROOM_TRY(const Place place, place_of(path));
  const Descriptor there(root_.open_path(place.path, O_PATH | O_DIRECTORY));
  if (there.get() >= 0) return sync_folder(place);
  HEADROOM_CHECK(before("make-folder", place.path));
  if (::mkdirat(place.folder.get(), place.name.c_str(), mode) != 0) {
    return os_error(errno, "making the folder " + place.path);
  }
  const Status finished = finish_folder(place, mode);
  if (!finished && before("remove-folder", place.path)) {
    ::unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR);
  }
  HEADROOM_CHECK(finished);
  return sync_folder(place);
}

Status WritableFiles::finish_folder(const Place& place, std::uint32_t mode) const {
  const Descriptor made(::openat(place.folder.get(), place.name.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (made.get() < 0 || ::fstat(made.get(), &status) != 0) {
    return os_error(errno, "opening the folder " + place.path);
  }
  // The umask took some of it. Set-group-ID, which the folder above hands down, stays.
  if ((status.st_mode & 0777U) != (mode & 0777U)) {
    HEADROOM_CHECK(before("mode", place.path));
    if (::fchmod(made.get(), mode | (status.st_mode & S_ISGID)) != 0 &&
        (errno != EPERM || keeps_permissions(made.get()))) {
      return os_error(errno, "setting the permissions of " + place.path);
    }
  }
  HEADROOM_CHECK(before("sync", place.path));
  if (::fsync(made.get()) != 0 && errno != EINVAL) {
    return os_error(errno, "bringing the folder " + place.path + " to disk");
  }
  return Done{};
}

Status WritableFiles::remove_folder(std::string_view path) {
  HEADROOM_TRY(const auto place, place_if_there(path));
  if (!place) return Done{};
  struct stat status {};
  if (::fstatat(place->folder.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    HEADROOM_CHECK(before("remove-folder", place->path));
    if (::unlinkat(place->folder.get(), place->name.c_str(), AT_REMOVEDIR) != 0 &&
        errno != ENOENT) {
      return os_error(errno, "removing the folder " + place->path);
    }
  } else if (errno != ENOENT) {
    return os_error(errno, "looking at " + place->path);
  }
  return sync_folder(*place);
}

Status WritableFiles::write_in_place(std::string_view path, std::string_view text) {
  HEADROOM_TRY(const std::string name, resolve(path));
  if (!name.starts_with("/sys/") && !name.starts_with("/proc/")) {
    return Error{Errc::invalid,
                 fmt::format("expected a file of the kernel, under /sys or /proc, found {}", name),
                 ""};
  }
  HEADROOM_TRY(const Descriptor file, open_file(name, O_WRONLY));
  HEADROOM_CHECK(before("write-in-place", name));
  ssize_t count = 0;
  do {
    count = ::write(file.get(), text.data(), text.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return os_error(errno, "writing " + name);
  if (static_cast<std::size_t>(count) != text.size()) {
    return Error{
        Errc::io,
        fmt::format("writing {}: the kernel took {} of {} bytes", name, count, text.size()), ""};
  }
  // The kernel keeps the value, not the text; a scratch root's file has to be told where it ends.
  if (!is_real() && ::ftruncate(file.get(), count) != 0) return os_error(errno, "writing " + name);
  return Done{};
}

Result<Descriptor> WritableFiles::lock(std::string_view path) {
  HEADROOM_TRY(const Place place, place_of(path));
  // Programs that we start inherit it: one that outlives us still changes the machine.
  constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::openat(place.folder.get(), place.name.c_str(), flags));
  if (file.get() < 0 && errno == ENOENT) {
    HEADROOM_CHECK(before("create", place.path));
    file = Descriptor(::openat(place.folder.get(), place.name.c_str(), flags | O_CREAT, 0600));
  }
  if (file.get() < 0) return os_error(errno, "opening the lock " + place.path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return os_error(errno, "taking the lock " + place.path);
  return Error{Errc::busy,
               fmt::format("expected nobody else to be changing this machine, found {} held by {}",
                           place.path, describe(find_lock_holders(file.get()))),
               "wait until it is done, then run the same command again"};
}

std::vector<LockHolder> WritableFiles::lock_holders(std::string_view path) const {
  const Descriptor there(root_.open_path(absolute(path), O_PATH | O_NOFOLLOW));
  return there.get() < 0 ? std::vector<LockHolder>() : find_lock_holders(there.get());
}

}  // namespace headroom::machine

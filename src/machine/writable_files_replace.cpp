// SPDX-License-Identifier: Apache-2.0
// Putting new bytes, or a new link, in the place of what is there. The order is what makes it safe:
// everything about the new file is on disk before the rename, the rename is on disk before we say
// so. A power cut at any moment leaves the old or the new, and at most the temporary beside it; on
// FAT it leaves an empty file if it comes between the rename and sync_renamed().
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "machine/file_attributes.h"
#include "machine/os_error.h"
#include "machine/writable_files.h"

namespace headroom::machine {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20U;

// FAT gives a renamed file an entry without size or place, and writes both when the file itself is
// synchronised again (vfat_rename, fs/fat/namei_vfat.c): until then a power cut leaves it empty.
Status sync_renamed(int folder, const std::string& name, const std::string& path) {
  const Descriptor file(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return Done{};  // A link, which FAT does not have, or nothing to be read.
  if (::fsync(file.get()) != 0 && errno != EINVAL)
    return os_error(errno, "bringing " + path + " to disk");
  return Done{};
}

}  // namespace

std::string WritableFiles::Place::temporary_path() const {
  return (folder_path == "/" ? "" : folder_path) + "/" + temporary();
}

Status WritableFiles::write_all(int fd, std::string_view bytes, const std::string& path) const {
  while (!bytes.empty()) {
    HEADROOM_CHECK(before("write", path));
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), piece_bytes));
    if (count < 0 && errno != EINTR) return os_error(errno, "writing " + path);
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return Done{};
}

Status WritableFiles::copy_all(int from, int to, const std::string& path) const {
  HEADROOM_CHECK(before("write", path));
  if (::ioctl(to, FICLONE, from) == 0) return Done{};  // Btrfs and XFS share the blocks.
  std::string piece(piece_bytes, '\0');
  for (;;) {
    const ssize_t count = ::read(from, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, "reading what to copy to " + path);
    if (count == 0) return Done{};
    HEADROOM_CHECK(write_all(to, {piece.data(), static_cast<std::size_t>(count)}, path));
  }
}

Status WritableFiles::make_temporary(const Fill& fill, const Place& place,
                                     const FileAttributes& attributes) {
  const std::string path = place.temporary_path();
  HEADROOM_CHECK(before("create", path));
  // Nobody else's until it has its owner and permissions.
  const Descriptor file(::openat(place.folder.get(), place.temporary().c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return os_error(errno, "making " + path);
  HEADROOM_CHECK(fill(file.get(), path));
  HEADROOM_CHECK(set_attributes(file.get(), attributes, path, [&](std::string_view operation) {
    return before(operation, path);
  }));
  HEADROOM_CHECK(before("sync", path));
  if (::fsync(file.get()) != 0) return os_error(errno, "bringing " + path + " to disk");
  return Done{};
}

Status WritableFiles::make_temporary_link(const Place& place, const std::string& target) {
  const std::string path = place.temporary_path();
  HEADROOM_CHECK(before("link", path));
  if (::symlinkat(target.c_str(), place.folder.get(), place.temporary().c_str()) != 0) {
    return os_error(errno, "making the link " + path);
  }
  struct stat old {};  // Of a link only the owner can be kept.
  struct stat made {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fstatat(place.folder.get(), place.temporary().c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0 ||
      (old.st_uid == made.st_uid && old.st_gid == made.st_gid)) {
    return Done{};
  }
  HEADROOM_CHECK(before("owner", path));
  if (::fchownat(place.folder.get(), place.temporary().c_str(), old.st_uid, old.st_gid,
                 AT_SYMLINK_NOFOLLOW) != 0) {
    return os_error(errno,
                    fmt::format("giving {} to user {}, group {}", path, old.st_uid, old.st_gid));
  }
  return Done{};
}

Status WritableFiles::finish(const Place& place, Status made) {
  if (made) made = before("rename", place.path);
  if (made && ::renameat(place.folder.get(), place.temporary().c_str(), place.folder.get(),
                         place.name.c_str()) != 0) {
    made = os_error(errno, "replacing " + place.path);
  }
  if (made) {
    HEADROOM_CHECK(sync_renamed(place.folder.get(), place.name, place.path));
    return sync_folder(place);
  }
  // What went wrong first is what to tell; a temporary that stays is found by remove_leftover.
  [[maybe_unused]] const Status removed = remove_temporary(place);
  return made;
}

Status WritableFiles::remove_temporary(const Place& place) const {
  struct stat status {};
  const std::string name = place.temporary();
  if (::fstatat(place.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Done{};
    return os_error(errno, "looking at " + place.temporary_path());
  }
  HEADROOM_CHECK(before("remove", place.temporary_path()));
  if (::unlinkat(place.folder.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return os_error(errno, "removing " + place.temporary_path());
  }
  return Done{};
}

Status WritableFiles::replace_with(const Fill& fill, std::string_view path,
                                   const FileAttributes& attributes) {
  HEADROOM_TRY(const Place place, place_of(path));
  HEADROOM_CHECK(remove_temporary(place));
  return finish(place, make_temporary(fill, place, attributes));
}

Status WritableFiles::replace(std::string_view path, std::string_view bytes,
                              const FileAttributes& attributes) {
  return replace_with(
      [&](int fd, const std::string& temporary) { return write_all(fd, bytes, temporary); }, path,
      attributes);
}

Status WritableFiles::copy(std::string_view from, std::string_view to,
                           const FileAttributes& attributes) {
  HEADROOM_TRY(const Descriptor source, open_file(from, O_RDONLY));
  return replace_with(
      [&](int fd, const std::string& temporary) { return copy_all(source.get(), fd, temporary); },
      to, attributes);
}

Status WritableFiles::make_link(std::string_view path, std::string_view target) {
  HEADROOM_TRY(const Place place, place_of(path));
  if (target.empty() || target.find('\0') != std::string_view::npos) {
    return Error{
        Errc::invalid,
        fmt::format("making the link {}: expected a path, found \"{}\"", place.path, target), ""};
  }
  HEADROOM_CHECK(remove_temporary(place));
  return finish(place, make_temporary_link(place, std::string(target)));
}

Status WritableFiles::remove_leftover(std::string_view path) {
  HEADROOM_TRY(const auto place, place_if_there(path));
  if (!place) return Done{};
  return remove_temporary(*place);
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "machine/clock.h"
#include "machine/os_error.h"

namespace headroom::allocator {
namespace {

// Bytes from here on are only locked and never written; no file is that long.
constexpr std::int64_t lock_byte = std::int64_t{1} << 40U;
constexpr std::int64_t first_mark_byte = lock_byte + 1;

Error failed(std::string_view doing, const std::string& path) {
  Error error = machine::os_error(errno, fmt::format("{} {}", doing, path));
  error.next = "give a path in a folder of your own that can be written, such as /dev/shm";
  return error;
}

// The lock belongs to the open file, not to the process: so it keeps threads apart, and closing
// another descriptor of the file does not release it (fcntl(2), "Open file description locks").
struct flock byte_lock(std::int64_t byte, short kind) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

LockedFile::LockedFile(std::string path, machine::Descriptor file)
    : path_(std::make_unique<std::string>(std::move(path))), file_(std::move(file)) {}

Result<LockedFile> LockedFile::open(const std::string& path) {
  machine::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (file.get() < 0) return failed("opening", path);
  struct stat found = {};
  if (::fstat(file.get(), &found) != 0) return failed("looking at", path);
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid())
    return Error{Errc::invalid,
                 fmt::format("expected a file of this user at {}, found {}", path,
                             S_ISREG(found.st_mode) ? fmt::format("one of user {}", found.st_uid)
                                                    : "something else"),
                 "give another path"};
  return LockedFile(path, std::move(file));
}

// Opens the file again, so that a child which was forked before does not share the lock.
Result<machine::Descriptor> LockedFile::reopen() const {
  const std::string own = fmt::format("/proc/self/fd/{}", file_.get());
  machine::Descriptor file(::open(own.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return failed("opening again", *path_);
  return file;
}

Result<LockedFile::Lock> LockedFile::lock() {
  constexpr std::uint64_t patience_ns = 5'000'000'000;
  HEADROOM_TRY(machine::Descriptor file, reopen());
  const std::uint64_t deadline = machine::monotonic_ns() + patience_ns;
  for (useconds_t pause_us = 20;; pause_us = std::min<useconds_t>(pause_us * 2, 2000)) {
    struct flock wanted = byte_lock(lock_byte, F_WRLCK);
    if (::fcntl(file.get(), F_OFD_SETLK, &wanted) == 0) return Lock(*path_, std::move(file));
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return failed("locking", *path_);
    if (machine::monotonic_ns() > deadline)
      return Error{
          Errc::busy, fmt::format("expected {} to be free within 5 s, found it locked", *path_),
          fmt::format("fuser -v {} shows who has it open; a stopped process may hold it", *path_)};
    ::usleep(pause_us);
  }
}

LockedFile::Lock::~Lock() {
  // Unlocks explicitly, because a child that was forked meanwhile has the open file as well.
  if (file_.get() < 0) return;
  struct flock none = byte_lock(lock_byte, F_UNLCK);
  static_cast<void>(::fcntl(file_.get(), F_OFD_SETLK, &none));
}

Result<std::string> LockedFile::Lock::read(std::size_t limit) const {
  std::string bytes(limit, '\0');
  std::size_t got = 0;
  while (got < limit) {
    const ssize_t more =
        ::pread(file_.get(), bytes.data() + got, limit - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return failed("reading", *path_);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

Status LockedFile::Lock::write(std::uint64_t offset, std::string_view bytes) const {
  ssize_t written = 0;
  do {
    written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  } while (written < 0 && errno == EINTR);
  if (written < 0) return failed("writing", *path_);
  if (static_cast<std::size_t>(written) != bytes.size()) {
    errno = ENOSPC;
    return failed("writing", *path_);
  }
  return Done{};
}

Status LockedFile::Lock::resize(std::uint64_t bytes) const {
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) return failed("resizing", *path_);
  return Done{};
}

Status LockedFile::mark(std::uint64_t number) {
  struct flock wanted = byte_lock(first_mark_byte + static_cast<std::int64_t>(number), F_WRLCK);
  if (::fcntl(file_.get(), F_OFD_SETLK, &wanted) != 0) return failed("marking a slot of", *path_);
  return Done{};
}

Result<bool> LockedFile::has_mark(std::uint64_t number) const {
  HEADROOM_TRY(const machine::Descriptor file, reopen());
  struct flock wanted = byte_lock(first_mark_byte + static_cast<std::int64_t>(number), F_WRLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &wanted) != 0) return failed("looking at", *path_);
  return wanted.l_type != F_UNLCK;
}

}  // namespace headroom::allocator

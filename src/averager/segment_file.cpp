// SPDX-License-Identifier: Apache-2.0
#include "averager/segment_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "averager/process_identity.h"
#include "averager/wait.h"
#include "base/bytes.h"
#include "machine/os_error.h"

namespace headroom::averager {
namespace {

using machine::os_error;

Status check_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (!name.empty() && name.size() <= longest &&
      name.find_first_not_of(allowed) == std::string::npos)
    return Done{};
  return Error{Errc::invalid,
               fmt::format("expected a job name of 1 to {} letters, digits, dots, dashes and "
                           "underscores, found '{}'",
                           longest, name.substr(0, longest)),
               "choose another name"};
}

// Refuses what is not a regular file that this user alone can write and read.
Status check_owner(int file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return os_error(errno, "looking at " + path);
  if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0077U) == 0)
    return Done{};
  return Error{Errc::no_permission,
               fmt::format("expected {} to be a file of user {} that nobody else can open, found "
                           "{} of user {} with mode {:04o}; nothing in it was read",
                           path, ::geteuid(), S_ISREG(status.st_mode) ? "a file" : "no file",
                           status.st_uid, status.st_mode & 07777U),
               "ls -l " + path + ", or give the job another name"};
}

Error no_room(const std::string& folder, std::uint64_t wanted) {
  struct statvfs status = {};
  std::string free = "less";
  if (::statvfs(folder.c_str(), &status) == 0)
    free = to_string(Bytes{std::uint64_t{status.f_bavail} * status.f_frsize});
  return Error{
      Errc::no_space,
      fmt::format("expected room for {} in {}, found {}", to_string(Bytes{wanted}), folder, free),
      "df -h " + folder +
          "; use smaller arenas, or enlarge it: mount -o remount,size=…, and in a "
          "container --shm-size or --ipc=host"};
}

// Takes all the memory now, so that no store fails later (that would be a SIGBUS).
Status reserve(int file, const std::string& folder, std::uint64_t bytes) {
  struct statvfs status = {};
  if (::statvfs(folder.c_str(), &status) == 0 &&
      bytes / status.f_frsize >= std::uint64_t{status.f_bavail})
    return no_room(folder, bytes);
  int result = 0;
  do {
    result = ::fallocate(file, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Done{};
  if (errno == ENOSPC || errno == ENOMEM || errno == EFBIG) return no_room(folder, bytes);
  return os_error(errno, "reserving memory in " + folder);
}

// The first pages of a file, which is known to be long enough.
class Inspection {
 public:
  static Result<Inspection> open(int file, const std::string& path) {
    void* address = ::mmap(nullptr, sizeof(Control), PROT_READ, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) return os_error(errno, "mapping " + path);
    return Inspection(static_cast<const Control*>(address));
  }
  const Control& control() const { return *control_; }

  // Whether a process that belongs to it runs.
  bool is_alive() const {
    return std::any_of(control_->members.begin(), control_->members.end(), [](const Member& one) {
      return protocol::is_live(one.life.load()) &&
             is_running({.pid = one.pid, .started = one.started});
    });
  }

 private:
  struct Unmap {
    void operator()(const Control* control) const {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the mapping is ours.
      ::munmap(const_cast<Control*>(control), sizeof(Control));
    }
  };
  explicit Inspection(const Control* control) : control_(control) {}
  std::unique_ptr<const Control, Unmap> control_;
};

Error other_terms(const std::string& path, const Terms& wanted, const Terms& found) {
  if (wanted.job != found.job)
    return Error{Errc::busy,
                 fmt::format("another job runs under the same name: expected job {} in {}, found "
                             "job {}",
                             wanted.job, path, found.job),
                 "give the jobs different names, or wait until the other one has ended"};
  const auto words = [](const Terms& terms) {
    return fmt::format("{} ranks, arenas of {}, {} in flight, chunks of {} and policy {}",
                       terms.ranks, to_string(Bytes{terms.arena_bytes}), terms.slots,
                       to_string(Bytes{terms.chunk_bytes}), terms.policy);
  };
  return Error{Errc::invalid,
               fmt::format("the ranks disagree: expected {} as this rank was told, found {} in {}",
                           words(wanted), words(found), path),
               "start all ranks of the job with the same options"};
}

}  // namespace

std::string FilePlace::path() const {
  return fmt::format("{}/headroom-averager.{}.{}", folder, ::geteuid(), name);
}

Status SegmentFile::lock() {
  const Deadline deadline(place_.wait_ms);
  while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return os_error(errno, "locking " + place_.path());
    if (deadline.has_passed())
      return Error{Errc::busy,
                   fmt::format("expected the lock of {} within {} ms, found it held by a process "
                               "that starts or leaves",
                               place_.path(), place_.wait_ms),
                   "fuser -v " + place_.path()};
    rest_ms(1);
  }
  return Done{};
}

void SegmentFile::unlock() {
  ::flock(file_.get(), LOCK_UN);
}

Result<bool> SegmentFile::has_name() const {
  struct stat named = {};
  struct stat opened = {};
  if (::fstat(file_.get(), &opened) != 0) return os_error(errno, "looking at " + place_.path());
  if (::lstat(place_.path().c_str(), &named) != 0) return false;
  return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

void SegmentFile::remove() {
  const auto named = has_name();
  if (named && *named) ::unlink(place_.path().c_str());
}

Result<std::optional<SegmentFile>> SegmentFile::make(const FilePlace& place, const Terms& terms) {
  const std::string path = place.path();
  machine::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0 && errno == EEXIST) return std::nullopt;
  if (file.get() < 0) return os_error(errno, "making " + path);
  SegmentFile made(place, std::move(file), true);
  HEADROOM_CHECK(made.lock());
  HEADROOM_TRY(const bool named, made.has_name());
  if (!named) return std::nullopt;  // Taken for one left behind, before the lock.
  if (auto reserved = reserve(made.descriptor(), place.folder, Layout(terms).total); !reserved) {
    made.remove();
    return std::move(reserved).error();
  }
  return made;
}

Result<std::optional<SegmentFile>> SegmentFile::open_existing(const FilePlace& place,
                                                              const Terms& terms) {
  const std::string path = place.path();
  machine::Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return make(place, terms);
    if (errno == ELOOP || errno == EACCES)
      return Error{Errc::no_permission,
                   fmt::format("expected {} to be a file of user {}, found {}", path, ::geteuid(),
                               errno == ELOOP ? "a symbolic link" : "one that may not be opened"),
                   "ls -l " + path + ", or give the job another name"};
    return os_error(errno, "opening " + path);
  }
  HEADROOM_CHECK(check_owner(file.get(), path));
  SegmentFile found(place, std::move(file), false);
  HEADROOM_CHECK(found.lock());
  HEADROOM_TRY(const bool named, found.has_name());
  if (!named) return std::nullopt;
  struct stat status = {};
  if (::fstat(found.descriptor(), &status) != 0) return os_error(errno, "looking at " + path);
  bool alive = false;
  Header header;
  if (std::cmp_greater_equal(status.st_size, sizeof(Control))) {
    HEADROOM_TRY(const Inspection inspection, Inspection::open(found.descriptor(), path));
    header = inspection.control().header;
    alive = header.magic == Header::magic_word &&
            std::cmp_equal(status.st_size, header.total_bytes) && inspection.is_alive();
    if (header.magic == Header::magic_word && header.pid_namespace != pid_namespace())
      return Error{Errc::unsupported,
                   "the ranks are in different PID namespaces, so that they cannot tell whether "
                   "another one lives: expected that of this process in " +
                       path,
                   "start them in one container, or containers with --pid=host"};
  }
  if (!alive) {  // Left behind by a crash.
    found.remove();
    return std::nullopt;
  }
  if (header.terms != terms) return other_terms(path, terms, header.terms);
  return found;
}

Result<SegmentFile> SegmentFile::open(const FilePlace& place, const Terms& terms) {
  HEADROOM_CHECK(check_name(place.name));
  const Deadline deadline(place.wait_ms);
  while (true) {
    HEADROOM_TRY(std::optional<SegmentFile> file, open_existing(place, terms));
    if (file) return *std::move(file);
    if (deadline.has_passed())
      return Error{Errc::busy,
                   "expected " + place.path() +
                       " to stay, found it replaced again and "
                       "again",
                   "ls -l " + place.path()};
  }
}

}  // namespace headroom::averager

// SPDX-License-Identifier: Apache-2.0
#include "machine/named_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include <climits>

#include "base/text.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr int most_links = 40;  // As the kernel's own limit (path_resolution(7)).

bool is_ours_or_roots(uid_t owner) {
  return owner == ::geteuid() || owner == 0;
}

bool is_in_proc(int folder) {
  struct statfs system {};
  return ::fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// "1" of /proc/self/fd, whatever led there.
std::optional<int> find_own_descriptor(int folder, const std::string& name) {
  struct stat here {};
  struct stat own {};
  const auto number = parse_u64(name);
  if (!number || *number > INT_MAX || ::fstat(folder, &here) != 0 ||
      ::stat("/proc/self/fd", &own) != 0 || here.st_dev != own.st_dev ||
      here.st_ino != own.st_ino) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

// One walk along a path.
class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) { put_in_front(path); }

  Result<NamedPlace> go() {
    HEADROOM_CHECK(enter_start(path_));
    while (!parts_.empty()) {
      const std::string part = std::move(parts_.front());
      parts_.pop_front();
      struct stat status {};
      const bool is_there =
          ::fstatat(folder_.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (!is_there && (errno != ENOENT || !parts_.empty())) return failed();
      if (is_there && S_ISLNK(status.st_mode) && !is_in_proc(folder_.get())) {
        HEADROOM_CHECK(follow(part, status));
      } else if (parts_.empty() && part != "..") {
        return found(part);
      } else {
        HEADROOM_CHECK(enter(part));
      }
    }
    return Error{Errc::invalid, "writing " + path_ + ": expected a file, found a folder", ""};
  }

 private:
  Error failed() const { return os_error(errno, "writing " + path_); }

  // What comes next, in front of the rest. "a/." and "a/" name a folder and no file in it.
  void put_in_front(const std::string& path) {
    std::deque<std::string> parts;
    for (const std::string_view part : split(path, '/')) {
      if (!part.empty() && part != ".") parts.emplace_back(part);
    }
    if (parts_.empty() && (path.ends_with('/') || path.ends_with("/."))) parts.emplace_back("..");
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
  }

  Status enter_start(const std::string& path) {
    if (!path.starts_with('/') && folder_.get() >= 0) return Done{};
    const char* start = path.starts_with('/') ? "/" : ".";
    folder_ = Descriptor(::open(start, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder_.get() < 0) return failed();
    return Done{};
  }

  // Of /proc the kernel follows links itself: what they seem to hold is no path.
  Status enter(const std::string& part) {
    const int follows = is_in_proc(folder_.get()) ? 0 : O_NOFOLLOW;
    Descriptor next(
        ::openat(folder_.get(), part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | follows));
    if (next.get() < 0) return failed();
    folder_ = std::move(next);
    return Done{};
  }

  bool may_follow(const struct stat& link) const {
    if (is_ours_or_roots(link.st_uid)) return true;
    if (parts_.empty() || ::geteuid() == 0) return false;
    struct stat folder {};
    if (::fstat(folder_.get(), &folder) != 0) return false;
    const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
    return !is_shared || folder.st_uid == link.st_uid;
  }

  Status follow(const std::string& part, const struct stat& link) {
    if (!may_follow(link)) {
      return Error{Errc::no_permission,
                   fmt::format("writing {}: \"{}\" on the way is a link of another user ({}), who "
                               "may have meant another file; it is not followed",
                               path_, part, link.st_uid),
                   "name the file itself, in a folder of your own"};
    }
    std::array<char, PATH_MAX> target{};
    const ssize_t length =
        ::readlinkat(folder_.get(), part.c_str(), target.data(), target.size() - 1);
    if (length < 0) return failed();
    if (++links_ > most_links) {
      errno = ELOOP;
      return failed();
    }
    const std::string next(target.data(), static_cast<std::size_t>(length));
    put_in_front(next);
    if (next.starts_with('/')) HEADROOM_CHECK(enter_start(next));
    return Done{};
  }

  NamedPlace found(const std::string& name) {
    NamedPlace place;
    place.is_of_proc = is_in_proc(folder_.get());
    if (place.is_of_proc) place.own_descriptor = find_own_descriptor(folder_.get(), name);
    place.folder = std::move(folder_);
    place.name = name;
    return place;
  }

  const std::string& path_;
  std::deque<std::string> parts_;
  Descriptor folder_;
  int links_ = 0;
};

}  // namespace

Result<NamedPlace> find_named_place(const std::string& path) {
  if (path.empty()) return Error{Errc::invalid, "expected the name of a file, found none", ""};
  return Walk(path).go();
}

}  // namespace headroom::machine

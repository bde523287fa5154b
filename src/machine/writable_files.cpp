// SPDX-License-Identifier: Apache-2.0
// What WritableFiles tells: opening the root, reading, listing, following links.
#include "machine/writable_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include "base/text.h"
#include "machine/acts_when_read.h"
#include "machine/each_entry.h"
#include "machine/file_attributes.h"
#include "machine/os_error.h"
#include "machine/user.h"

namespace headroom::machine {
namespace {

std::optional<std::string> link_text(int fd) {
  std::array<char, 4096> target;
  const ssize_t length = ::readlinkat(fd, "", target.data(), target.size());
  if (length < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(length));
}

EntryKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::file;
  if (S_ISLNK(mode)) return EntryKind::link;
  return S_ISDIR(mode) ? EntryKind::folder : EntryKind::other;
}

bool is_absent(int number) {
  return number == ENOENT || number == ENOTDIR;
}

// `pattern` has one meaning only: "*" is any run of characters.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t end = star; end <= name.size(); ++end) {
    if (matches(rest, name.substr(end))) return true;
  }
  return false;
}

bool is_temporary(std::string_view name) {
  return name.starts_with('.') && name.ends_with(".headroom-new");
}

void put_in_front(std::deque<std::string>& parts, std::string_view path) {
  const auto more = split(path, '/');
  parts.insert(parts.begin(), more.begin(), more.end());
}

}  // namespace

Result<WritableFiles> WritableFiles::open(const std::string& root) {
  HEADROOM_TRY(RootFolder folder, RootFolder::open(root));
  WritableFiles files(std::move(folder));
  files.name_ = root.substr(0, root.find_last_not_of('/') + 1);
  if (files.is_real()) return files;
  const Descriptor marker(files.root_.open_path(scratch_marker, O_PATH | O_NOFOLLOW));
  struct stat status {};
  if (marker.get() >= 0 && ::fstat(marker.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    return files;
  }
  return Error{
      Errc::not_this_system,
      fmt::format("{} is a captured machine: expected this system itself, to change it", root),
      "type it on the machine itself, without --root; nothing in the folder was changed"};
}

Result<std::optional<FileEntry>> WritableFiles::look(std::string_view path) const {
  const std::string name = absolute(path);
  const Descriptor there(root_.open_path(name, O_PATH | O_NOFOLLOW));
  if (is_absent(-there.get())) return std::optional<FileEntry>();
  if (there.get() < 0) return os_error(-there.get(), "looking at " + name);
  struct stat status {};
  if (::fstat(there.get(), &status) != 0) return os_error(errno, "looking at " + name);
  FileEntry entry;
  entry.kind = kind_of(status.st_mode);
  entry.attributes.mode = status.st_mode & 07777U;
  entry.attributes.uid = status.st_uid;
  entry.attributes.gid = status.st_gid;
  HEADROOM_TRY(entry.attributes.extended, read_extended(there.get(), name));
  entry.size = static_cast<std::uint64_t>(status.st_size);
  entry.names = status.st_nlink;
  entry.modified_s = status.st_mtim.tv_sec;
  if (entry.kind == EntryKind::link) entry.target = link_text(there.get()).value_or("");
  return std::optional(std::move(entry));
}

Result<std::string> WritableFiles::resolve(std::string_view path) const {
  constexpr int links_max = 40;  // As the kernel's own limit.
  std::deque<std::string> ahead;
  put_in_front(ahead, path);
  std::vector<std::string> done;
  std::vector<uid_t> link_owners;
  int links = 0;
  while (!ahead.empty()) {
    const std::string part = std::move(ahead.front());
    ahead.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const std::string head = "/" + join(done, "/");
    const Descriptor there(root_.open_path(head, O_PATH | O_NOFOLLOW));
    if (is_absent(-there.get())) continue;
    struct stat status {};
    if (there.get() < 0 || ::fstat(there.get(), &status) != 0) {
      return os_error(there.get() < 0 ? -there.get() : errno, "following " + head);
    }
    const auto target = S_ISLNK(status.st_mode) ? link_text(there.get()) : std::nullopt;
    if (!target) continue;
    if (++links > links_max) return os_error(ELOOP, "following " + absolute(path));
    link_owners.push_back(status.st_uid);
    done.pop_back();
    if (target->starts_with('/')) done.clear();
    put_in_front(ahead, *target);
  }
  std::string whole = "/" + join(done, "/");
  HEADROOM_CHECK(check_trust(path, link_owners, whole));
  return whole;
}

Status WritableFiles::check_trust(std::string_view path, const std::vector<uid_t>& link_owners,
                                  const std::string& end) const {
  if (!runs_as_root() || link_owners.empty()) return Done{};
  HEADROOM_TRY(const Descriptor there, open_nearest(end));
  struct stat status {};
  if (::fstat(there.get(), &status) != 0) return os_error(errno, "looking at " + end);
  for (const uid_t owner : link_owners) {
    if (owner == 0 || owner == status.st_uid) continue;
    return Error{Errc::no_permission,
                 fmt::format("following {}: expected a link of user {} to lead to what is theirs, "
                             "found {}, which is user {}'s",
                             absolute(path), owner, end, status.st_uid),
                 "name the file itself, or run the same command as that user"};
  }
  return Done{};
}

Result<Descriptor> WritableFiles::open_nearest(std::string path) const {
  for (;;) {
    Descriptor there(root_.open_path(path, O_PATH));
    if (there.get() >= 0) return there;
    if (!is_absent(-there.get()) || path == "/") {
      return os_error(-there.get(), "looking at " + path);
    }
    path = absolute(path.substr(0, path.rfind('/')));
  }
}

Result<Descriptor> WritableFiles::open_file(std::string_view path, int flags) const {
  const std::string doing =
      fmt::format("{} {}", (flags & O_ACCMODE) == O_RDONLY ? "reading" : "writing", absolute(path));
  HEADROOM_TRY(const std::string name, resolve(path));
  if (acts_when_read(name)) {
    return Error{Errc::unsupported, doing + ": refused, because opening it for that acts", ""};
  }
  Descriptor file(root_.open_resolved(name, flags));
  if (file.get() < 0) return os_error(-file.get(), doing);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(errno, doing);
  if (!S_ISREG(status.st_mode)) return Error{Errc::invalid, doing + ": not a regular file", ""};
  return file;
}

Result<Descriptor> WritableFiles::open_file(std::string_view path) const {
  return open_file(path, O_RDONLY);
}

Status WritableFiles::read_pieces(std::string_view path,
                                  const std::function<Status(std::string_view piece)>& take) const {
  HEADROOM_TRY(const Descriptor file, open_file(path, O_RDONLY));
  std::string piece(std::size_t{1} << 18U, '\0');
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, "reading " + absolute(path));
    if (count == 0) return Done{};
    HEADROOM_CHECK(take({piece.data(), static_cast<std::size_t>(count)}));
  }
}

Result<std::string> WritableFiles::read(std::string_view path, std::size_t limit) const {
  std::string text;
  HEADROOM_CHECK(read_pieces(path, [&](std::string_view piece) -> Status {
    text += piece;
    if (text.size() <= limit) return Done{};
    return Error{Errc::invalid,
                 fmt::format("reading {}: longer than {} bytes", absolute(path), limit), ""};
  }));
  return text;
}

Result<std::vector<std::string>> WritableFiles::list(std::string_view path) const {
  Descriptor folder(root_.open_path(path, O_RDONLY | O_DIRECTORY));
  if (folder.get() < 0) return os_error(-folder.get(), "listing " + absolute(path));
  std::vector<std::string> names;
  const int failure = each_entry(
      std::move(folder), [&](int, const dirent& entry) { names.emplace_back(entry.d_name); });
  if (failure != 0) return os_error(failure, "listing " + absolute(path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> WritableFiles::match(std::string_view pattern) const {
  const std::string whole = absolute(pattern);
  const std::size_t slash = whole.rfind('/');
  const std::string last = whole.substr(slash + 1);
  std::vector<std::string> found;
  if (last.find('*') == std::string::npos) {
    HEADROOM_TRY(const auto entry, look(whole));
    if (entry) found.push_back(whole);
    return found;
  }
  const auto names = list(whole.substr(0, slash + 1));
  if (!names && names.error().code == Errc::not_found) return found;
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (matches(last, name) && !is_temporary(name)) {
      found.push_back(whole.substr(0, slash + 1) + name);
    }
  }
  return found;
}

Result<std::uint64_t> WritableFiles::free_bytes(std::string_view path) const {
  HEADROOM_TRY(std::string name, resolve(path));
  HEADROOM_TRY(const Descriptor there, open_nearest(name));
  struct statvfs about {};
  if (::fstatvfs(there.get(), &about) != 0) {
    return os_error(errno, "asking for the free space at " + name);
  }
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

}  // namespace headroom::machine

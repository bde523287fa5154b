// SPDX-License-Identifier: Apache-2.0
#include "machine/file_attributes.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr const char* access_acl = "system.posix_acl_access";

// f*xattr refuse descriptors opened with O_PATH; by their names under /proc they are taken.
std::string name_of(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

Error xattr_error(int number, const std::string& path) {
  Error error = os_error(number, "reading the extended attributes of " + path);
  if (number == ENOENT && ::access("/proc/self/fd", F_OK) != 0) {
    error.message += ", because /proc is not mounted";
    error.next = "mount -t proc proc /proc";
  }
  return error;
}

// The bytes that ask(buffer, size) gives, however many; nullopt with errno set.
template <class Ask>
std::optional<std::string> whole_answer(Ask ask) {
  for (;;) {
    const ssize_t size = ask(nullptr, 0);
    if (size < 0) return std::nullopt;
    std::string answer(static_cast<std::size_t>(size), '\0');
    const ssize_t length = ask(answer.data(), answer.size());
    if (length < 0 && errno == ERANGE) continue;  // It grew in between.
    if (length < 0) return std::nullopt;
    answer.resize(static_cast<std::size_t>(length));
    return answer;
  }
}

std::optional<std::string> value_of(int fd, const std::string& name) {
  return whole_answer([&](char* buffer, std::size_t size) {
    return ::getxattr(name_of(fd).c_str(), name.c_str(), buffer, size);
  });
}

bool is_derived(std::string_view name) {
  return name == "security.ima" || name == "security.evm";
}

Status set_owner(int fd, const FileAttributes& wanted, const std::string& path) {
  if (::fchown(fd, wanted.uid, wanted.gid) == 0 || (errno == EPERM && !keeps_permissions(fd))) {
    return Done{};
  }
  return os_error(errno,
                  fmt::format("giving {} to user {}, group {}", path, wanted.uid, wanted.gid));
}

}  // namespace

bool keeps_permissions(int fd) {
  constexpr long exfat = 0x2011BAB0;  // EXFAT_SUPER_MAGIC of newer linux/magic.h.
  struct statfs about {};
  return ::fstatfs(fd, &about) != 0 || (about.f_type != MSDOS_SUPER_MAGIC && about.f_type != exfat);
}

Result<std::map<std::string, std::string>> read_extended(int fd, const std::string& path) {
  std::map<std::string, std::string> found;
  const auto names = whole_answer([&](char* buffer, std::size_t size) {
    return ::listxattr(name_of(fd).c_str(), buffer, size);
  });
  if (!names && errno == EOPNOTSUPP) return found;
  if (!names) return xattr_error(errno, path);
  for (std::size_t start = 0; start < names->size();) {
    const std::string name = names->c_str() + start;
    start += name.size() + 1;
    if (is_derived(name)) continue;
    auto value = value_of(fd, name);
    if (value) {
      found.emplace(name, *std::move(value));
    } else if (errno != ENODATA) {  // Somebody removed it just now.
      return xattr_error(errno, path);
    }
  }
  return found;
}

Status set_attributes(int fd, const FileAttributes& wanted, const std::string& path,
                      const std::function<Status(std::string_view)>& before) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return os_error(errno, "looking at " + path);
  if (now.st_uid != wanted.uid || now.st_gid != wanted.gid) {
    HEADROOM_CHECK(before("owner"));
    HEADROOM_CHECK(set_owner(fd, wanted, path));
  }
  // After the owner, whose change takes capabilities away.
  for (const auto& [name, value] : wanted.extended) {
    if (value_of(fd, name) == value) continue;
    HEADROOM_CHECK(before("attribute"));
    if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) != 0) {
      return os_error(errno, fmt::format("setting {} of {}", name, path));
    }
  }
  if (!wanted.extended.contains(access_acl) && value_of(fd, access_acl)) {
    HEADROOM_CHECK(before("attribute"));
    if (::fremovexattr(fd, access_acl) != 0 && errno != ENODATA) {
      return os_error(errno, "removing the inherited ACL of " + path);
    }
  }
  // Last, because the two others change permissions.
  if (::fstat(fd, &now) != 0) return os_error(errno, "looking at " + path);
  if ((now.st_mode & 07777U) == wanted.mode) return Done{};
  HEADROOM_CHECK(before("mode"));
  if (::fchmod(fd, wanted.mode) != 0 && (errno != EPERM || keeps_permissions(fd))) {
    return os_error(errno,
                    fmt::format("setting the permissions of {} to {:04o}", path, wanted.mode));
  }
  return Done{};
}

}  // namespace headroom::machine

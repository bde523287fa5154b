// SPDX-License-Identifier: Apache-2.0
#include "history/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"
#include "machine/private_folders.h"

namespace headroom::history {
namespace {

constexpr mode_t owner_only_file = 0600;

}  // namespace

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Status make_file(const std::string& path) {
  if (is_there(path)) return Done{};
  HEADROOM_CHECK(machine::make_private_folders_above(path));
  const machine::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, owner_only_file));
  if (file.get() < 0) return machine::os_error(errno, "making " + path);
  return Done{};
}

Result<std::string> move_damaged_aside(const std::string& path,
                                       const std::function<bool()>& is_damaged) {
  const std::string guard = path + ".lock";
  const machine::Descriptor lock(
      ::open(guard.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, owner_only_file));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX) != 0)
    return machine::os_error(errno, "locking " + guard);
  if (!is_damaged()) return std::string();
  const std::string aside = path + ".damaged-" + machine::utc_now();
  if (::rename(path.c_str(), aside.c_str()) != 0)
    return machine::os_error(errno, "moving the damaged " + path + " aside");
  ::rename((path + "-journal").c_str(), (aside + "-journal").c_str());  // Usually there is none.
  return aside;
}

}  // namespace headroom::history

// SPDX-License-Identifier: Apache-2.0
#include "machine/provisional.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "machine/os_error.h"

namespace headroom::machine {

Result<Provisional> Provisional::make(const std::string& parent, const std::string& beginning,
                                      const std::string& doing, bool sweeps) {
  std::array<std::uint64_t, 2> number{};
  if (::getrandom(number.data(), sizeof number, 0) != sizeof number) return os_error(errno, doing);
  Provisional made;
  made.parent_ =
      std::make_unique<Descriptor>(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (made.parent() < 0) return os_error(errno, doing);
  made.name_ = fmt::format("{}{:016x}{:016x}", beginning, number[0], number[1]);
  made.caretaker_ = std::make_unique<Caretaker>(made.parent(), made.name_, sweeps ? beginning : "");
  return made;
}

int Provisional::keep_as(int folder, const std::string& name) const {
  return rename_to_new(parent(), name_, folder, name);
}

int rename_to_new(int from_folder, const std::string& from, int to_folder, const std::string& to) {
  if (::syscall(SYS_renameat2, from_folder, from.c_str(), to_folder, to.c_str(),
                RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat there {};
  if (::fstatat(to_folder, to.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(from_folder, from.c_str(), to_folder, to.c_str()) == 0 ? 0 : errno;
}

Placed place_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace headroom::machine

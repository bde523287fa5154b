// SPDX-License-Identifier: Apache-2.0
#include "machine/private_folders.h"

#include <sys/stat.h>

#include <cerrno>

#include "machine/os_error.h"

namespace headroom::machine {

Status make_private_folders_above(const std::string& path) {
  constexpr mode_t owner_only = 0700;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), owner_only) != 0 && errno != EEXIST) {
      const int problem = errno;
      // On a read-only file system mkdir says so of folders that are there, too.
      struct stat status {};
      if (::stat(folder.c_str(), &status) != 0)
        return os_error(problem, "making the folder " + folder);
    }
  }
  return Done{};
}

}  // namespace headroom::machine

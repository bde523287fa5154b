// SPDX-License-Identifier: Apache-2.0
#include "machine/services/paths.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "machine/os_error.h"

namespace headroom::machine {

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(::realpath(path.c_str(), nullptr), std::free);
  if (!whole) return os_error(errno, "reading " + path);
  return std::string(whole.get());
}

bool may_replace(const std::string& path) {
  const auto whole = real_path(path);
  std::string folder = whole ? *whole : path;
  do {
    folder.erase(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    if (folder.empty()) folder = "/";
    if (::access(folder.c_str(), F_OK) == 0)
      return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  } while (folder != "/");
  return false;
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/os_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace headroom::machine {
namespace {

Errc code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
      return Errc::not_found;
    case EPERM:
    case EACCES:
    case EROFS:
      return Errc::no_permission;
    case ENOMEM:
      return Errc::out_of_memory;
    case ENOSPC:
    case EDQUOT:
      return Errc::no_space;
    case ENOSYS:
    case EOPNOTSUPP:
      return Errc::unsupported;
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
    case EINVAL:
      return Errc::invalid;
    default:
      return Errc::io;
  }
}

}  // namespace

Error os_error(int number, const std::string& doing) {
  return {code_of(number), fmt::format("{}: {}", doing, std::generic_category().message(number)),
          ""};
}

}  // namespace headroom::machine

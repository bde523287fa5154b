// SPDX-License-Identifier: Apache-2.0
#include "machine/os_error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

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
    case EFBIG:  // A limit on how long files may be (ulimit -f), or the file system's own.
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

constexpr std::array<std::pair<int, std::string_view>, 20> names{{
    {EPERM, "EPERM"},     {ENOENT, "ENOENT"},
    {EACCES, "EACCES"},   {EIO, "EIO"},
    {ENXIO, "ENXIO"},     {ENODEV, "ENODEV"},
    {EBUSY, "EBUSY"},     {EAGAIN, "EAGAIN"},
    {EINVAL, "EINVAL"},   {ENOTDIR, "ENOTDIR"},
    {EISDIR, "EISDIR"},   {ELOOP, "ELOOP"},
    {ENOMEM, "ENOMEM"},   {ENAMETOOLONG, "ENAMETOOLONG"},
    {ENOSYS, "ENOSYS"},   {EOPNOTSUPP, "EOPNOTSUPP"},
    {ENODATA, "ENODATA"}, {ETIMEDOUT, "ETIMEDOUT"},
    {ESTALE, "ESTALE"},   {EROFS, "EROFS"},
}};

}  // namespace

std::string errno_name(int number) {
  for (const auto& [known, name] : names) {
    if (known == number) return std::string(name);
  }
  return "EIO";
}

std::optional<int> errno_number(std::string_view name) {
  for (const auto& [number, known] : names) {
    if (known == name) return number;
  }
  return std::nullopt;
}

Error os_error(int number, const std::string& doing) {
  return {code_of(number), fmt::format("{}: {}", doing, std::generic_category().message(number)),
          ""};
}

}  // namespace headroom::machine

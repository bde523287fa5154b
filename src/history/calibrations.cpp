// SPDX-License-Identifier: Apache-2.0
#include "history/calibrations.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "machine/os_error.h"
#include "machine/private_folders.h"
#include "machine/user.h"
#include "machine/user_files.h"

namespace headroom::history {
namespace {

using estimate::Calibrations;

constexpr std::size_t file_max_bytes = std::size_t{4} << 20U;

// What nobody but this user has written.
Status check_owner(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0)
    return errno == ENOENT ? Status(Done{}) : machine::os_error(errno, "looking at " + path);
  if (!S_ISREG(found.st_mode))
    return Error{Errc::unsupported, path + ": expected a file, found something else there",
                 "mv " + path + " " + path + ".old"};
  if (found.st_uid != machine::user_id())
    return Error{Errc::no_permission,
                 path + ": expected a file of this user, found one of another user", "rm " + path};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{
        Errc::no_permission,
        path + ": expected a file that only this user can write, found one that others can",
        "chmod go-w " + path};
  return Done{};
}

}  // namespace

Result<Calibrations> read_calibrations(const std::string& path) {
  HEADROOM_CHECK(check_owner(path));
  const auto text = machine::read_file(path, file_max_bytes);
  if (!text && text.error().code == Errc::not_found) return Calibrations{};
  if (!text) return text.error();
  auto calibrations = estimate::parse_calibrations(*text);
  if (calibrations) return calibrations;
  Error error = std::move(calibrations).error().in(path);
  if (error.code == Errc::unsupported) error.next = "mv " + path + " " + path + ".old";
  return error;
}

Status can_keep_calibrations(const std::string& path) {
  const auto found = read_calibrations(path);
  if (!found && found.error().code != Errc::invalid) return found.error();
  HEADROOM_CHECK(machine::make_private_folders_above(path));
  const std::string folder = path.substr(0, path.rfind('/'));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return machine::os_error(errno, "writing in " + folder);
  return Done{};
}

Status keep_calibration(const std::string& path, estimate::Calibration calibration) {
  auto found = read_calibrations(path);
  if (!found && found.error().code != Errc::invalid) return std::move(found).error();
  Calibrations calibrations = found ? *std::move(found) : Calibrations{};
  calibrations.put(std::move(calibration));
  HEADROOM_CHECK(machine::make_private_folders_above(path));
  return machine::write_file_atomic(path, estimate::format_calibrations(calibrations));
}

}  // namespace headroom::history

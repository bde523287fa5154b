// SPDX-License-Identifier: Apache-2.0
#include "machine/temporary_folder.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "machine/os_error.h"
#include "machine/sweep.h"

namespace headroom::machine {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code failure;
  const fs::path parent = fs::temp_directory_path(failure);
  if (failure) return os_error(failure.value(), "looking for a folder for temporary files");
  const fs::path absolute = fs::absolute(parent, failure);
  const std::string doing = "making a temporary folder in " + parent.string();
  HEADROOM_TRY(Provisional place,
               Provisional::make(absolute.string(), "headroom-folder-", doing, true));
  Descriptor lock = make_locked_folder(place.parent(), place.name().c_str());
  if (lock.get() < 0) return os_error(errno, doing);
  std::string path = (absolute / place.name()).string();
  return TemporaryFolder(std::move(place), std::move(lock), std::move(path));
}

}  // namespace headroom::machine

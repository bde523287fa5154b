// SPDX-License-Identifier: Apache-2.0
#include "machine/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "machine/os_error.h"

namespace headroom::machine {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code failure;
  const fs::path parent = fs::temp_directory_path(failure);
  if (failure) return os_error(failure.value(), "looking for a folder for temporary files");
  std::string path = (parent / "headroom-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {  // Mode 0700.
    return os_error(errno, "making a temporary folder in " + parent.string());
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);  // Removes links, follows none.
}

}  // namespace headroom::machine

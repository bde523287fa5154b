// SPDX-License-Identifier: Apache-2.0
// A folder that nobody else can look into, and that is gone with its owner.
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::machine {

class TemporaryFolder {
 public:
  // In TMPDIR, or /tmp.
  static Result<TemporaryFolder> make();

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // Empty: moved from.
};

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// A folder that nobody else can look into, and that is gone with its owner, whatever the owner dies
// of (caretaker.h). What a kill of both has left is removed when the next one is made.
#pragma once

#include <string>

#include "base/result.h"
#include "machine/descriptor.h"
#include "machine/provisional.h"

namespace headroom::machine {

class TemporaryFolder {
 public:
  // In TMPDIR, or /tmp.
  static Result<TemporaryFolder> make();

  const std::string& path() const { return path_; }

 private:
  TemporaryFolder(Provisional place, Descriptor lock, std::string path)
      : place_(std::move(place)), lock_(std::move(lock)), path_(std::move(path)) {}

  Provisional place_;
  Descriptor lock_;  // Its owner lives.
  std::string path_;
};

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// Writes a large file piece by piece so that it is there whole or not at all: beside its place,
// fsynced, then renamed over what was there. Until then the old file stays as it was.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::trainer {

class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // Without commit() nothing remains.

  // A full disk is Errc::no_space.
  Status write(const void* data, std::size_t bytes);
  Status commit();

 private:
  AtomicFile(std::string path, std::string beside, machine::Descriptor file);

  std::string path_;
  std::string beside_;  // Empty once committed.
  machine::Descriptor file_;
};

// Removes what killed processes have left beside `path`. Requires: nobody is writing it.
void remove_parts(const std::string& path);

}  // namespace headroom::trainer

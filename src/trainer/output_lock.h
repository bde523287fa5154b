// SPDX-License-Identifier: Apache-2.0
// One run at a time writes into an output folder: a lock on a file in it, which the kernel gives
// back however the process ends.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::trainer {

class OutputLock {
 public:
  // Takes FOLDER/.headroom.lock. Fails with busy where another process has it, and says which; with
  // the reason where the file cannot be made, as on a file system that is only to be read.
  static Result<OutputLock> take(const std::string& folder);

  // Where the file system has no locks (some network file systems), a run goes on without: why.
  const std::optional<std::string>& missing() const { return missing_; }

  OutputLock(OutputLock&&) noexcept = default;
  OutputLock& operator=(OutputLock&&) = delete;
  ~OutputLock();  // Removes the file. A killed process leaves it there, locked by nobody.

 private:
  OutputLock(std::string path, machine::Descriptor file, std::optional<std::string> missing);

  std::string path_;
  machine::Descriptor file_;
  std::optional<std::string> missing_;
};

}  // namespace headroom::trainer

// SPDX-License-Identifier: Apache-2.0
// A small file that processes change one after the other. The lock is the kernel's: whoever is
// killed holding it has let go of it. The file is read and written, not mapped, so that one that is
// cut short by somebody is an Error and not a signal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::allocator {

class LockedFile {
 public:
  // Opens or creates the file, readable by its owner only. Refuses what is no file, and another
  // user's.
  static Result<LockedFile> open(const std::string& path);

  // Held by one thread of one process at a time, until it is destroyed.
  class Lock {
   public:
    // As much as there is, up to `limit`.
    Result<std::string> read(std::size_t limit) const;
    // All of it or, on an Error, nothing to rely on. At most a page, within one: a process that is
    // killed has written it as a whole or not at all.
    Status write(std::uint64_t offset, std::string_view bytes) const;
    Status resize(std::uint64_t bytes) const;

    Lock(Lock&& other) noexcept = default;
    Lock& operator=(Lock&& other) noexcept = default;
    ~Lock();

   private:
    friend class LockedFile;
    Lock(const std::string& path, machine::Descriptor file)
        : path_(&path), file_(std::move(file)) {}
    const std::string* path_;
    machine::Descriptor file_;
  };
  // Waits; fails with `busy` after five seconds, because nobody holds it for a millisecond. The
  // threads of one process queue better for a mutex of their own.
  Result<Lock> lock();

  // A mark that lasts as long as this object and its process: a byte far behind the file's end is
  // locked. has_mark() asks whether any process, in whatever container, has it.
  Status mark(std::uint64_t number);
  Result<bool> has_mark(std::uint64_t number) const;

 private:
  LockedFile(std::string path, machine::Descriptor file);
  Result<machine::Descriptor> reopen() const;

  std::unique_ptr<std::string> path_;  // Where locks can refer to them, when this is moved.
  machine::Descriptor file_;
};

}  // namespace headroom::allocator

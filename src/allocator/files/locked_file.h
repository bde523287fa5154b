// SPDX-License-Identifier: Apache-2.0
// A small file that processes change one after the other. The kernel keeps the lock, and releases
// it if its holder is killed. The file is read and written, not mapped, so that a file that another
// process cut short is an Error and not a signal.
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
  // Opens or creates the file, readable by its owner only. Refuses anything that is no regular
  // file, and another user's file.
  static Result<LockedFile> open(const std::string& path);

  // One thread of one process at a time holds the lock, until this object is destroyed.
  class Lock {
   public:
    // Reads the file up to `limit` bytes.
    Result<std::string> read(std::size_t limit) const;
    // Writes all bytes; after an Error the content is undefined. The bytes must lie within one
    // page, so that a process that is killed has written all of them or none.
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
  // Waits for the lock. Fails with `busy` after five seconds, since it is normally held for less
  // than a millisecond. The threads of one process queue better for a mutex of their own.
  Result<Lock> lock();

  // Sets a mark, by locking a byte far behind the file's end. It lasts as long as this object and
  // its process. has_mark() tells whether any process, in any container, has set it.
  Status mark(std::uint64_t number);
  Result<bool> has_mark(std::uint64_t number) const;

 private:
  LockedFile(std::string path, machine::Descriptor file);
  Result<machine::Descriptor> reopen() const;

  std::unique_ptr<std::string> path_;  // Where locks can refer to them, when this is moved.
  machine::Descriptor file_;
};

}  // namespace headroom::allocator

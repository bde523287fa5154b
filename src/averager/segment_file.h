// SPDX-License-Identifier: Apache-2.0
// The segment's file in /dev/shm: found or made under its lock, checked before anything in it is
// believed, and removed by the last who leaves. Whoever finds one that no living process belongs to
// removes it and makes a new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "averager/layout.h"
#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::averager {

struct FilePlace {
  std::string folder = "/dev/shm";
  std::string name;                // The job's: letters, digits, dot, dash and underscore.
  std::uint32_t wait_ms = 10'000;  // For another process that starts or leaves.

  std::string path() const;
};

// The file, open and locked against others who start or leave until unlock(). Locks belong to the
// open file, so threads of one process exclude each other as processes do.
class SegmentFile {
 public:
  // Finds the live segment at `place` or makes one for `terms`, of which `is_new()` tells. Fails
  // with no_permission if what is there is not the user's own regular file, with busy if a segment
  // of other terms lives there, and with no_space if there is no room for a new one.
  static Result<SegmentFile> open(const FilePlace& place, const Terms& terms);

  bool is_new() const { return is_new_; }
  int descriptor() const { return file_.get(); }
  Status lock();
  void unlock();
  // Removes the name if it is still this file's. Requires: locked.
  void remove();

 private:
  SegmentFile(FilePlace place, machine::Descriptor file, bool is_new)
      : place_(std::move(place)), file_(std::move(file)), is_new_(is_new) {}
  // Both return nothing where what stands at the name changed meanwhile: look again.
  static Result<std::optional<SegmentFile>> open_existing(const FilePlace& place,
                                                          const Terms& terms);
  static Result<std::optional<SegmentFile>> make(const FilePlace& place, const Terms& terms);
  Result<bool> has_name() const;

  FilePlace place_;
  machine::Descriptor file_;
  bool is_new_ = false;
};

}  // namespace headroom::averager

// SPDX-License-Identifier: Apache-2.0
// The folder that stands for a machine's "/": this system's own, or one that mirrors a machine.
// Every open starts from its descriptor, and of a mirror the kernel itself sees to it that no link
// and no ".." leads out (openat2 with RESOLVE_IN_ROOT).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

// "" and "/" are the root itself; openat2 wants "." for it. No slash at the start otherwise.
std::string relative(std::string_view path);
// The same path with exactly one slash at its start.
std::string absolute(std::string_view path);
// "/a//b/../c" → "a/c"; never climbs above the start.
std::string without_dots(std::string_view path);

class RootFolder {
 public:
  // Fails with not_found if `root` is no folder, and with unsupported where the kernel lacks
  // openat2 (before Linux 5.6) and the root is not "/".
  static Result<RootFolder> open(const std::string& root);

  // The same folder as "/", by identity: "/", "//" and a bind mount of it are all this system.
  bool is_real() const { return real_; }
  int get() const { return folder_.get(); }
  // An open descriptor, or -errno. `path` is as on that machine. Never waits for a device or a
  // pipe, never makes a terminal ours.
  int open_path(std::string_view path, int flags) const;
  // The same for a path without links on it: fails with -ELOOP where somebody has put one there.
  int open_resolved(std::string_view path, int flags) const;

 private:
  Descriptor folder_;
  bool real_ = false;
};

}  // namespace headroom::machine

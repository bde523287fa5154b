// SPDX-License-Identifier: Apache-2.0
// The files of one machine: this one (root "/") or a captured one (any folder that mirrors /sys,
// /proc, /etc and /dev). Paths are written as on that machine, "/sys/class/drm"; nothing outside
// the root can be reached, whatever links the folder holds (openat2 with RESOLVE_IN_ROOT). Reads
// only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

struct Link {
  std::string name;
  std::string target;
};

class Files {
 public:
  // Fails with not_found if `root` is no folder, and with unsupported where the kernel lacks
  // openat2 (before Linux 5.6) and the root is not "/".
  static Result<Files> open(const std::string& root);

  // True for "/": what is read is true of this system now. Changing and running refuse any other
  // root.
  bool is_real() const { return real_; }

  // The whole file; invalid if it is longer than `limit` or no regular file. Kernel files lie about
  // their size, so it is not asked.
  Result<std::string> read(std::string_view path, std::size_t limit = std::size_t{1} << 20U) const;
  // The names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> list(std::string_view path) const;
  // The symbolic links in a folder, by name, each with what it says: of /proc/PID/fd with its
  // hundreds of entries, in one pass.
  Result<std::vector<Link>> list_links(std::string_view path) const;
  // What a symbolic link says, unresolved.
  Result<std::string> read_link(std::string_view path) const;
  // Where a path leads once every link is followed, as a path of that machine.
  Result<std::string> resolve(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Whether the user who runs this may open the path for reading and writing; only asked of the
  // real root. Does not open it: opening a device node may wake the device.
  Result<bool> may_use(std::string_view path) const;

 private:
  Files() = default;
  // An open descriptor, or -errno. `name` is relative to the root.
  int open_raw(const std::string& name, int flags) const;
  Result<Descriptor> open_at(std::string_view path, int flags) const;
  // What the link `name` says, be it a real link or, in a capture, a small file with a link's text.
  std::optional<std::string> link_text(const std::string& name) const;
  // The path with every link on its way followed; the last name too if `whole`.
  Result<std::string> follow_links(std::string path, bool whole) const;
  std::map<std::string, Errc> with_real_names(const std::map<std::string, Errc>& errors) const;
  Error explain(Error error, std::string_view path) const;

  Descriptor root_;
  bool real_ = false;
  std::map<std::string, Errc> recorded_errors_;
};

// Captures may say which reads failed on the machine: MANIFEST.json's `read_errors`, either
// {"sys/…": "EPERM", …}, or a list of paths, or a list of {"path", "error"}. Other text is no error
// here: it yields nothing. Pure.
std::map<std::string, Errc> parse_recorded_errors(std::string_view manifest);

}  // namespace headroom::machine

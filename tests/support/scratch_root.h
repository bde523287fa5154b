// SPDX-License-Identifier: Apache-2.0
// A machine's root that a test may change: a scratch folder with the marker that WritableFiles and
// Programs ask for. The only place that writes the marker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/file_entry.h"
#include "support/scratch.h"

namespace headroom::testing {

// Puts the marker into a folder that is there.
void mark_as_scratch_root(const std::filesystem::path& folder);

// Everything that can be seen of a tree: path → what is there, with the bytes of files.
struct SeenEntry {
  FileEntry entry;
  std::string bytes;
};
using Snapshot = std::map<std::string, SeenEntry>;

// Of a tree below `folder`, without what is at or under `except` ("/var/lib/headroom") and without
// folders above it that hold nothing else. Sizes of folders are left out: they are the file
// system's business.
Snapshot take_snapshot(const std::filesystem::path& folder, const std::string& except = "");

// One line per path that differs: "/etc/x: mode 644, then 600"; empty if the two are the same.
std::string difference(const Snapshot& before, const Snapshot& after);

class ScratchRoot {
 public:
  ScratchRoot();

  std::string string() const { return folder_.string(); }
  std::filesystem::path path(std::string_view path = "") const;  // Of the host.

  // Paths are the machine's: "/etc/default/grub". Folders on the way are made.
  void write(std::string_view path, std::string_view text, unsigned mode = 0644) const;
  void link(std::string_view path, const std::string& target) const;
  void folder(std::string_view path) const;
  // A stand-in for one of the machine's programs, for sh: `script` without its first line. Runs
  // with ROOT set to this root's path.
  void program(std::string_view path, std::string_view script) const;

  std::string read(std::string_view path) const;  // "" where nothing is there.
  bool has(std::string_view path) const;          // A link that leads nowhere counts.
  Snapshot snapshot(const std::string& except = "") const;

 private:
  Scratch folder_;
};

}  // namespace headroom::testing

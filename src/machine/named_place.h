// SPDX-License-Identifier: Apache-2.0
// Where a path leads that a person typed for something to be written: an open folder and a name in
// it, found link by link. Links are followed as everywhere, but not those that somebody else could
// have put there to have another file written than the one that was meant.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

struct NamedPlace {
  Descriptor folder;  // O_PATH.
  std::string name;   // In it; no link, or a link of /proc, which only the kernel can follow.
  bool is_of_proc = false;
  std::optional<int> own_descriptor;  // For /dev/stdout and its like: the descriptor that is meant.
};

// A link is followed where its owner is this process's user or root. Another's is followed on the
// way to the folder, as fs.protected_symlinks of proc(5) has it: not in a sticky folder that all
// may write to, unless its owner is the folder's; and never by root. As the last part of the path
// it is followed nowhere (no_permission). What does not exist is a place as well, in a folder that
// does.
Result<NamedPlace> find_named_place(const std::string& path);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// What --root names: this system, a folder, or an archive that `headroom capture` wrote.
#pragma once

#include <optional>
#include <string>

#include "machine/files.h"
#include "machine/temporary_folder.h"

namespace headroom::machine {

struct OpenRoot {
  std::optional<TemporaryFolder> unpacked;  // What an archive held; gone with this.
  Files files;
};

// Files::open, for archives as well: these are unpacked first (unpack.h says what is refused). A
// folder that holds all the rest, as in an archive made by hand, counts as the root.
Result<OpenRoot> open_root(const std::string& root, Recording* recording = nullptr);

}  // namespace headroom::machine

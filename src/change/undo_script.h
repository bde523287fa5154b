// SPDX-License-Identifier: Apache-2.0
// undo.sh: the way back for a rescue shell that has no headroom. POSIX sh and coreutils (or
// busybox) alone; the originals beside it carry their owner, mode and labels.
#pragma once

#include <string>
#include <string_view>

#include "plan/record.h"

namespace headroom::change {

// `sh undo.sh [ROOT]`: ROOT is where the machine's file system is mounted ("/mnt"), "" for itself.
std::string undo_script(const plan::Record& record);

// A word that a POSIX shell takes as it is: quoted unless it needs no quotes.
std::string shell_quote(std::string_view word);

}  // namespace headroom::change

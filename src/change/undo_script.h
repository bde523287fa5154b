// SPDX-License-Identifier: Apache-2.0
// undo.sh: the way back for a rescue shell that has no headroom. POSIX sh and coreutils (or
// busybox) alone; the originals beside it carry their owner, mode and labels.
#pragma once

#include <string>

#include "plan/record.h"

namespace headroom::change {

// `sh undo.sh [ROOT]`: ROOT is where the machine's file system is mounted ("/mnt"), "" for itself.
std::string undo_script(const plan::Record& record);

}  // namespace headroom::change

// SPDX-License-Identifier: Apache-2.0
// undo.sh: the way back for a rescue shell that has no headroom. POSIX sh and coreutils (or
// busybox) alone; the originals beside it carry their owner, mode and labels. It decides as undo
// does, by checksums: first it looks at everything, and only then touches anything.
#pragma once

#include <string>

#include "plan/record.h"

namespace headroom::change {

// `sh undo.sh [--force] [ROOT]`: ROOT is where the machine's file system is mounted ("/mnt"), ""
// for itself. Exits 1 with nothing touched where somebody edited a file since (--force puts the
// original over it) or an original is not as it was kept, and 2 for words that it does not know.
// Run by root it goes only into folders that nobody but root can write to, from ROOT down, because
// a shell cannot hold a folder open, and whoever owns one could exchange it for a link meanwhile.
// What is elsewhere (home folders) it names and leaves, does the rest and exits 1 at the end, and
// `headroom undo` goes there safely.
std::string undo_script(const plan::Record& record);

}  // namespace headroom::change

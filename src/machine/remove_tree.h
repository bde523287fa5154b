// SPDX-License-Identifier: Apache-2.0
// Removes a file, or a folder with all that is in it, by system calls alone: it may run in a forked
// child whatever the parent's other threads were doing. A tree may be as deep as it likes.
#pragma once

namespace headroom::machine {

// What has the name in the open folder. Links are removed, never followed, and nothing is removed
// on another file system. True if nothing of that name is left; otherwise all that could be removed
// is gone.
bool remove_tree(int folder, const char* name);

}  // namespace headroom::machine

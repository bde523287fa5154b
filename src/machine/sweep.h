// SPDX-License-Identifier: Apache-2.0
// What is left where an owner and its caretaker were killed together, as the end of a container or
// the want of memory may do.
#pragma once

#include <string_view>

#include "machine/descriptor.h"

namespace headroom::machine {

// Removes the folders in an open folder whose names begin so and whose owners are dead: they are
// this user's own and closed to all others, no links, and nobody has locked them. By system calls
// alone, as remove_tree().
void sweep(int folder, std::string_view beginning);

// Makes the folder `name`, mode 0700, and locks it against sweep() for as long as the descriptor is
// open. -1 with errno if it cannot be made or is there already.
Descriptor make_locked_folder(int folder, const char* name);

}  // namespace headroom::machine

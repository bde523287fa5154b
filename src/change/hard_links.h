// SPDX-License-Identifier: Apache-2.0
// Files with more than one name (hard links): replacing one parts it from its other names, which
// keep the old bytes. That is said before it is done.
#pragma once

#include <string>
#include <vector>

#include "machine/writable_files.h"
#include "plan/change.h"

namespace headroom::change {

// One sentence per file that the change's own edits would part from its other names. What cannot be
// looked at is not there: checking what is in the way is apply's work.
std::vector<std::string> find_parted_names(const machine::WritableFiles& files,
                                           const plan::Change& change);

}  // namespace headroom::change

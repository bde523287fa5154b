// SPDX-License-Identifier: Apache-2.0
// Groups of version 1 for a command, one in each hierarchy that helps: memory counts and limits,
// the freezer or a group of version 2 beside it ends all at once
// (Documentation/admin-guide/cgroup-v1/memory.rst and freezer-subsystem.rst).
#pragma once

#include <memory>
#include <optional>

#include "machine/tree/control_group.h"
#include "machine/tree/group_places.h"

namespace headroom::machine {

// Fails where no group of the memory hierarchy can be made below ours.
Result<std::unique_ptr<ControlGroup>> make_group_v1(const GroupPlaces& places,
                                                    std::optional<Bytes> limit);

}  // namespace headroom::machine

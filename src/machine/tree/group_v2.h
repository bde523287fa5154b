// SPDX-License-Identifier: Apache-2.0
// A group of version 2 for a command (Documentation/admin-guide/cgroup-v2.rst).
#pragma once

#include <memory>
#include <optional>

#include "machine/tree/control_group.h"
#include "machine/tree/group_folder.h"
#include "machine/tree/group_places.h"

namespace headroom::machine {

// Below our own group, which must have been delegated to us. Groups with processes cannot hand
// memory on to groups below them: if we are the only process of ours, we move into one of its own
// beside the command's, and back in the end. Fails where that is not so,
// and where systemd has kept our group to itself (its manual page systemd.resource-control(5),
// Delegate=).
Result<std::unique_ptr<ControlGroup>> make_group_v2(const GroupPlaces& places,
                                                    std::optional<Bytes> limit);
// One that only holds processes together.
Result<std::unique_ptr<ControlGroup>> make_holding_group_v2(const GroupPlaces& places);

// What a group of version 2 counts. `highest`: the most that was seen so far, for kernels before
// 5.19, which do not keep it.
GroupUse read_group_use_v2(const GroupFolder& folder, Bytes& highest);
// Ends what is in the group of version 2 at `folder`, at one moment.
void kill_group_v2(const std::string& folder);

}  // namespace headroom::machine

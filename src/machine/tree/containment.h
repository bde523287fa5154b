// SPDX-License-Identifier: Apache-2.0
// How a tree of processes is held together, chosen: the strongest means that this system and this
// user's rights allow.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/tree/control_group.h"
#include "machine/tree/process_tree.h"

namespace headroom::machine {

enum class Means : std::uint8_t {
  strongest,
  cgroup_v2,
  cgroup_v1,
  systemd_scope,
  holding_group,  // A group of version 2 that cannot limit memory.
  processes,
};

struct Containment {
  std::unique_ptr<ControlGroup> group;  // None: the processes alone.
  std::string remark;                   // Why it is not a stronger one; may be empty.
};

// A group with this limit, in which the process `command` is. Any but `strongest` is that one or
// none, for tests.
Containment contain(pid_t command, std::optional<Bytes> limit, Means means);

// ProcessTree::start by certain means, for tests.
Result<std::unique_ptr<ProcessTree>> start_tree(const TreeOptions& options, Means means);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// A group of version 2 that systemd makes for a command and takes away again: the way for everyone
// whose own group is systemd's to divide, which is what a login session has.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "machine/tree/control_group.h"

namespace headroom::machine {

// With `command` in it. Fails where systemd does not run or refuses, and where it has not put the
// command there within some seconds.
Result<std::unique_ptr<ControlGroup>> make_scope(pid_t command, std::optional<Bytes> limit);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// Signals to many processes, and the end of all of them, those included that appear meanwhile.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "machine/tree/control_group.h"
#include "machine/tree/process_scan.h"

namespace headroom::machine {

// To each of them, never to a later process of its number. That one has ended is no failure. Fails
// with no_permission, after the others have got it, where one belongs to somebody else.
Status signal_all(const std::vector<ProcessStat>& processes, int signal);

// Ends all that `list` names until it names none, or only those that were sent SIGKILL and do not
// end: one that waits for a device, or belongs to somebody else. It waits for those some seconds at
// most. `group` may be null.
Status kill_all(ControlGroup* group, const std::function<std::vector<ProcessStat>()>& list);

}  // namespace headroom::machine

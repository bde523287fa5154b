// SPDX-License-Identifier: Apache-2.0
// Takes this process out of what ends with its login session. logind ends a session's processes at
// logout where KillUserProcesses=yes is set, and a user's service manager goes with the user's last
// session; a scope of the system's manager stays, and one of a manager that lingers (loginctl(1)).
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::machine {

struct Stay {
  std::string scope;    // The one that this process is in now; empty: it stayed where it was.
  std::string remark;   // What holds when the terminal goes, in one sentence.
  std::string command;  // What makes more of it hold; may be empty.
};

// Moves this process, with all its threads and without its children, into a new scope `name`: of
// the system's manager for root, of the user's own for everybody else. A user's process stays where
// it is if it would end sooner in that scope. That nothing can be moved is no failure, and the
// remark says why. `name` ends with ".scope" and is nobody else's.
Stay leave_session(const std::string& name, const std::string& description);

}  // namespace headroom::machine

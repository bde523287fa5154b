// SPDX-License-Identifier: Apache-2.0
// The one request that processes have to systemd: a scope around them
// (org.freedesktop.systemd1(5)).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

// Whether systemd is this system's init (sd_booted(3)).
bool is_systemd_there();

struct ScopeRequest {
  std::string name;              // "headroom-run-12-3f.scope".
  std::string description;       // What systemctl shows beside it.
  std::vector<pid_t> processes;  // One or two.
  // Nothing: as much memory and swap as there would be without the scope.
  std::optional<Bytes> limit;
};

// Asks systemd, root the system's and everybody else their own, to put the processes into a new
// scope. It does so a moment after this returns. Fails with unsupported where there is no systemd
// or no libsystemd, and as systemd answers.
Status start_scope(const ScopeRequest& request);
// Waits until it has done so with `process`; after some seconds it fails.
Status wait_for_scope(pid_t process, const std::string& name);

}  // namespace headroom::machine

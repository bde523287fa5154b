// SPDX-License-Identifier: Apache-2.0
// The one request that a command's tree has to systemd: a scope around its process
// (org.freedesktop.systemd1(5)). libsystemd is opened at run time.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

// Whether systemd is this system's init (sd_booted(3)).
bool is_systemd_there();

// Asks systemd, root the system's and everybody else their own, to put both processes into a new
// scope `name`, with this limit. It does so a moment after this returns. Fails with unsupported
// where there is no systemd or no libsystemd, and as systemd answers.
Status start_scope(const std::string& name, std::array<pid_t, 2> processes,
                   std::optional<Bytes> limit);

}  // namespace headroom::machine

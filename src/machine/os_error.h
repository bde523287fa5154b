// SPDX-License-Identifier: Apache-2.0
// errno as an Error: one table for the whole door.
#pragma once

#include <string>

#include "base/error.h"

namespace headroom::machine {

// "reading /etc/x: Permission denied (EACCES)", with the matching code. `number` is an errno value.
Error os_error(int number, const std::string& doing);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// errno as an Error: one table for the whole door.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headroom::machine {

// "reading /etc/x: Permission denied (EACCES)", with the matching code. `number` is an errno value.
Error os_error(int number, const std::string& doing);

// "EACCES" and back, for the errors that reading files can end in. A number without a name here is
// "EIO", which says as much.
std::string errno_name(int number);
std::optional<int> errno_number(std::string_view name);

}  // namespace headroom::machine

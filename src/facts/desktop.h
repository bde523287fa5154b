// SPDX-License-Identifier: Apache-2.0
// Who draws the screen that somebody sits in front of.
#pragma once

#include <string_view>

namespace headroom::facts {

// A display server, a compositor or what keeps a desktop session together; by the kernel's name for
// it (/proc/PID/comm), which is at most 15 bytes.
bool is_desktop(std::string_view command);

}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
// A moment as people write it.
#pragma once

#include <chrono>
#include <string>

namespace headroom::report {

// "2025-11-10 22:35:18Z" for milliseconds since 1970.
std::string utc_time(std::chrono::milliseconds since_1970);
// "22:35:18".
std::string utc_clock(std::chrono::milliseconds since_1970);

}  // namespace headroom::report

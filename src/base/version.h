// SPDX-License-Identifier: Apache-2.0
// Which headroom this is. A function, so that a new version compiles one file and not all.
#pragma once

namespace headroom {

// "0.1.0": the project's version in CMakeLists.txt. Static, ends with a zero byte.
const char* program_version();

}  // namespace headroom

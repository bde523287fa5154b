// SPDX-License-Identifier: Apache-2.0
// Reads which of libdrm's libraries the system has, and under which names.
#pragma once

#include "facts/system_libraries.h"
#include "machine/files.h"

namespace headroom::probe {

facts::SystemLibraries read_libraries(const machine::Files& files);

}  // namespace headroom::probe

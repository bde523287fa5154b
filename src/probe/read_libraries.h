// SPDX-License-Identifier: Apache-2.0
// Which of libdrm's parts the system has, under which names.
#pragma once

#include "facts/system_libraries.h"
#include "machine/files.h"

namespace headroom::probe {

facts::SystemLibraries read_libraries(const machine::Files& files);

}  // namespace headroom::probe

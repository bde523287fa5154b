// SPDX-License-Identifier: Apache-2.0
// Reads the processes that have a GPU open, from /proc and from KFD.
#pragma once

#include "facts/holder.h"
#include "machine/files.h"

namespace headroom::probe {

facts::Processes read_processes(const machine::Files& files);

}  // namespace headroom::probe

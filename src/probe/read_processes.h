// SPDX-License-Identifier: Apache-2.0
// Reads the processes that have a GPU open, from /proc and from KFD.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/holder.h"
#include "machine/files.h"

namespace headroom::probe {

facts::Processes read_processes(const machine::Files& files);

// The same of these processes alone, without their names: what they have open on GPUs, and KFD's
// list. `complete`: the descriptors of all that are still there could be read.
facts::Processes read_processes_of(const machine::Files& files,
                                   const std::vector<std::uint64_t>& pids);

// The text of /proc/PID/fdinfo/N for each descriptor of the process that may be a DRM client.
std::vector<std::string> read_client_texts(const machine::Files& files, std::uint64_t pid);

}  // namespace headroom::probe

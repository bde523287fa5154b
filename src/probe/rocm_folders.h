// SPDX-License-Identifier: Apache-2.0
// Where an installed ROCm is. Up to 7.2 it is /opt/rocm-7.2.1 with the link /opt/rocm; from 7.14 on
// /opt/rocm/core-10.2 with the link /opt/rocm/core (rocm.docs.amd.com: "Transition guide from
// legacy ROCm release stream").
#pragma once

#include <string>
#include <vector>

#include "facts/text_facts.h"
#include "machine/files.h"

namespace headroom::probe {

// The release of the ROCm that programs find first: what its .info/version says.
facts::Text read_rocm_version(const machine::Files& files);

// The folders of its libraries, the one that programs find first before others. Never empty.
std::vector<std::string> rocm_library_folders(const machine::Files& files);

}  // namespace headroom::probe

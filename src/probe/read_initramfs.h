// SPDX-License-Identifier: Apache-2.0
// Looks into the initramfs of the running kernel for files that should be in force but are not.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "machine/files.h"

namespace headroom::probe {

// Returns the image's copies of the files in modprobe.d whose options are not in force. Empty if
// every option is in force, when no image is opened (reading one takes a second), or if the image
// is not found.
std::vector<facts::InitramfsCopy> read_initramfs_copies(const machine::Files& files,
                                                        const facts::Facts& facts);

}  // namespace headroom::probe

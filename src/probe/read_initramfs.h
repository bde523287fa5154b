// SPDX-License-Identifier: Apache-2.0
// The initramfs of the running kernel: where it is, and what it holds of files that should be in
// force and are not.
#pragma once

#include <string>
#include <vector>

#include "facts/facts.h"
#include "machine/files.h"

namespace headroom::probe {

// Copies of the files of modprobe.d whose options are not in force. Empty where every option is in
// force, or the image is not found: no image is opened then, because reading one takes a second.
std::vector<facts::InitramfsCopy> read_initramfs_copies(const machine::Files& files,
                                                        const facts::Facts& facts);

}  // namespace headroom::probe

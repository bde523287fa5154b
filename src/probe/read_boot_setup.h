// SPDX-License-Identifier: Apache-2.0
// Reads how a machine boots: its boot loader, the tools that write the kernel command line and the
// initramfs, and every file that a change of either may touch. It never fails: what could not be
// read is missing with its reason, and listed in BootSetup::unseen.
#pragma once

#include "facts/boot_setup.h"
#include "facts/machine_facts.h"
#include "machine/files.h"

namespace headroom::probe {

facts::BootSetup read_boot_setup(const machine::Files& files, const facts::MachineFacts& machine);

}  // namespace headroom::probe

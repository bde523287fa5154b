// SPDX-License-Identifier: Apache-2.0
// The new command line for one boot only: an entry of its own in GRUB's menu, chosen with
// grub-reboot for the next boot. GRUB forgets that choice before it starts the kernel (00_header:
// next_entry), so whatever the trial does, the boot after it takes the old entry again.
#pragma once

#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// GRUB whose menu is in grub.cfg: `permanent` is done by confirm, after the trial. Where no trial
// can be made, it is done at once, and notes say why.
BootSteps with_grub_trial(const BootSubject& subject, const ArgumentChange& change,
                          std::vector<Step> permanent);

// GRUB that reads loader entries (blscfg): likewise, with a copy of the default entry. None where
// the default is a place in the menu other than the first, or a name that no entry has.
BootSteps with_loader_entry_trial(const BootSubject& subject, const ArgumentChange& change,
                                  std::vector<Step> permanent);

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// The kernel command line where systemd-boot reads loader entries: each entry's own "options", and
// /etc/kernel/cmdline for the entries of later kernels. The trial is a copy of the entry that runs,
// chosen once (bootctl set-oneshot): systemd-boot forgets that choice before it starts the kernel.
#pragma once

#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// `permanent` is done by confirm, after the trial; where no trial can be made, it is done at once,
// and notes say why.
BootSteps with_systemd_boot_trial(const BootSubject& subject, const ArgumentChange& change,
                                  std::vector<Step> permanent);

Result<BootSteps> plan_by_loader_entries(const BootSubject& subject, const ArgumentChange& change);

}  // namespace headroom::plan

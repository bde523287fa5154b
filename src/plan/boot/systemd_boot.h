// SPDX-License-Identifier: Apache-2.0
// The kernel command line where systemd-boot reads loader entries: each entry's own "options", and
// /etc/kernel/cmdline for the entries of later kernels. The trial is a copy of the entry that runs,
// chosen once (bootctl set-oneshot): systemd-boot forgets that choice before it starts the kernel.
#pragma once

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

Result<BootSteps> plan_by_loader_entries(const BootSubject& subject, const ArgumentChange& change);

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// The kernel command line of Fedora, RHEL and their kin: grubby edits every loader entry, the
// template for later kernels in /etc/default/grub and, where entries say $kernelopts, grubenv.
#pragma once

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

Result<BootSteps> plan_by_grubby(const BootSubject& subject, const ArgumentChange& change);

}  // namespace headroom::plan

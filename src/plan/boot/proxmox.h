// SPDX-License-Identifier: Apache-2.0
// The kernel command line of Proxmox VE where proxmox-boot-tool manages systemd-boot (ZFS on UEFI):
// the first line of /etc/kernel/cmdline, copied to every EFI system partition by a refresh.
#pragma once

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

Result<BootSteps> plan_by_proxmox_boot_tool(const BootSubject& subject,
                                            const ArgumentChange& change);

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// The kernel command line of systems that are not edited file by file: rpm-ostree keeps it with its
// deployments, NixOS makes it from configuration.nix, which only its owner edits.
#pragma once

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

Result<BootSteps> plan_by_rpm_ostree(const BootSubject& subject, const ArgumentChange& change);
BootSteps plan_for_nixos(const ArgumentChange& change);

}  // namespace headroom::plan

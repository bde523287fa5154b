// SPDX-License-Identifier: Apache-2.0
// The kernel command line of Pop!_OS: "user" → "kernel_options" in /etc/kernelstub/configuration,
// from which kernelstub writes the entries on the EFI system partition. The file is edited rather
// than "kernelstub --delete-options" run, because that one shuffles the words that stay.
#pragma once

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

Result<BootSteps> plan_by_kernelstub(const BootSubject& subject, const ArgumentChange& change);

// The configuration with its list of words edited, everything else byte for byte. Fails with
// invalid where there is no such list.
Result<std::string> edit_kernelstub_configuration(std::string_view text,
                                                  const ArgumentChange& change);

}  // namespace headroom::plan

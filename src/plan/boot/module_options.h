// SPDX-License-Identifier: Apache-2.0
// The steps that edit modprobe.d, without those that follow from them (module_options.cpp also
// defines plan_module_options, of boot_steps.h).
#pragma once

#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct ModuleFileEdits {
  std::vector<Step> steps;
  std::vector<std::string> files;  // Those edited that are still there, for the initramfs.
};
ModuleFileEdits edit_module_files(const facts::BootSetup& boot,
                                  const std::vector<ParameterChange>& changes);

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
// The exact commands for this machine's distribution, for people to read and type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/machine_facts.h"
#include "findings/step.h"

namespace headroom::findings {

// Where a module parameter goes that no file of modprobe.d sets yet, by hand or by `headroom fix`.
inline constexpr std::string_view own_options_path = "/etc/modprobe.d/headroom.conf";

struct Parameter {
  std::string module, key;  // "amdgpu", "gttsize".
};
struct ParameterValue {
  std::string key, value;  // "pages_limit", "16393924".
};

// Steps that give parameters of a module their values from the next boot on, the reboot included.
// Where the kernel command line sets one already, the steps change it there, because the command
// line wins. Those that are `dropped` go in the same steps.
std::vector<Step> steps_to_set(const facts::MachineFacts& machine, const std::string& module,
                               const std::vector<ParameterValue>& values,
                               const std::vector<Parameter>& dropped = {});
// TTM's parameters for a limit, the same that `headroom fix` sets: the pool of freed pages keeps as
// many as jobs may take, else its own default of half the RAM would remain.
std::vector<ParameterValue> ttm_limit_of(Bytes limit);
// Steps that take a module parameter back to its default, wherever it is set.
std::vector<Step> steps_to_drop(const facts::MachineFacts& machine, const std::string& module,
                                const std::string& key);
// Steps that add one word, such as "iommu=pt", to the kernel command line, the reboot included.
std::vector<Step> steps_to_boot_with(const facts::MachineFacts& machine,
                                     const std::string& argument);
// Makes the initramfs again, shows whether it holds modprobe.d's files, and reboots.
std::vector<Step> steps_to_rebuild_initramfs(const facts::MachineFacts& machine);
// Installs and tries Vulkan, the road that needs no ROCm.
Step step_to_vulkan(const facts::MachineFacts& machine);
// What this distribution's machines usually have, for one whose own tools could not be seen: the
// command that makes the initramfs again, and how to change the kernel command line. Empty where
// the distribution does not tell.
std::string usual_initramfs_command(const facts::MachineFacts& machine);
std::string usual_command_line_change(const facts::MachineFacts& machine);
// How to hand this engine's container the GPU's device nodes.
std::string pass_devices_command(const std::string& engine);

}  // namespace headroom::findings

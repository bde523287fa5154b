// SPDX-License-Identifier: Apache-2.0
// What it takes to give the next boot other kernel arguments or module parameters on this machine:
// one adapter per tool that writes the command line or the initramfs, one file each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "facts/boot_setup.h"
#include "facts/machine_facts.h"
#include "plan/change.h"
#include "plan/fix.h"

namespace headroom::plan {

// Steps, and what is to be said of them; appended to a Change by add_to().
struct BootSteps {
  std::vector<Step> steps;
  std::vector<Step> on_confirm;
  BootFallback fallback = BootFallback::not_needed;
  std::vector<std::string> rescue;
  std::vector<std::string> boots_with;  // As in Change.
  std::vector<std::string> boots_without;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};
void add_to(Change& change, BootSteps more);

// "ttm.pages_limit" and its value; nullopt: it is taken away everywhere.
struct ParameterChange {
  std::string module;
  std::string key;
  std::optional<std::string> value;

  std::string name() const { return module + "." + key; }
};

struct BootSubject {
  const facts::BootSetup& boot;
  const facts::MachineFacts& machine;
  bool trial = true;
  // What the notes say where `trial` is false.
  std::string_view why_no_trial = "it was asked for without one";
};

// Words to set ("iommu=pt", "ttm.pages_limit=31457280": any other value of that name goes) and
// names to drop, on the command line of the next and all later boots.
struct ArgumentChange {
  std::vector<std::string> set;
  std::vector<std::string> drop;
};
// Fails with unsupported where no tool is known that writes this machine's command line.
Result<BootSteps> plan_kernel_arguments(const BootSubject& subject, const ArgumentChange& change);

// In /etc/modprobe.d: a parameter that a file there sets is edited in place (whichever file, so
// that no later file overrides it), another goes to headroom.conf; then the initramfs images are
// made anew and must hold the file. Fails with unsupported on image-based systems.
Result<BootSteps> plan_module_options(const BootSubject& subject,
                                      const std::vector<ParameterChange>& changes);

// Makes the initramfs of every installed kernel anew; each image must hold `files` afterwards.
Result<std::vector<Step>> plan_initramfs(const facts::BootSetup& boot,
                                         const std::vector<std::string>& files);

// The same; where no tool for it was found, the step of a person.
std::vector<Step> initramfs_or_by_hand(const BootSubject& subject,
                                       const std::vector<std::string>& files);

// The choice between the two, and both where a parameter is set in both places: what the command
// line says wins over any file. NixOS and image-based systems without a tool get the text to add.
Result<BootSteps> plan_parameters(const BootSubject& subject,
                                  const std::vector<ParameterChange>& changes, Via via);

}  // namespace headroom::plan

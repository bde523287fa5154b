// SPDX-License-Identifier: Apache-2.0
// iommu-not-passthrough: iommu=pt on the kernel command line, where check found that the IOMMU
// translates what several GPUs send to each other, or that this boot has it and the next one will
// not.
#include <fmt/format.h>

#include "plan/boot/boot_steps.h"
#include "plan/boot/next_boot.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "iommu-not-passthrough";
constexpr std::string_view word = "iommu=pt";

Result<Change> make(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const BootSubject boot{subject.boot, machine, subject.options.trial};
  const bool is_lost = subject.facts.gpus.size() > 1 && is_lost_at_next_boot(boot, word);
  if (!is_lost && !is_diagnosed(subject.diagnosis, id)) {
    return not_needed(id, "the IOMMU does not translate traffic between GPUs here");
  }
  Change change;
  change.fix = id;
  change.title = "Make the IOMMU pass the GPUs' traffic through";
  change.words = subject.options.words;
  change.notes.emplace_back(
      "The host's devices are passed through. Virtual machines with their own devices stay "
      "isolated.");
  change.notes.emplace_back(
      "Until the reboot, set NCCL_P2P_DISABLE=1. RCCL then goes through RAM, which is slower but "
      "does not hang.");
  if (machine.in_container()) {
    change.steps.push_back(by_hand("On the host: headroom fix iommu-not-passthrough"));
    return change;
  }
  HEADROOM_TRY(BootSteps steps, plan_kernel_arguments(boot, {{std::string(word)}, {}}));
  if (steps.steps.empty()) {
    return Error{Errc::invalid,
                 fmt::format("nothing to do but reboot: {} is on the kernel command line of every "
                             "boot, but this boot started without it",
                             word),
                 "sudo reboot   (then headroom check)"};
  }
  add_to(change, std::move(steps));
  expect_the_same(subject, change);
  return change;
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix iommu_not_passthrough_fix = {
    .id = id,
    .meaning = "Boots with iommu=pt, so that GPUs can access each other directly.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan

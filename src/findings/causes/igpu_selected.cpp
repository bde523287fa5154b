// SPDX-License-Identifier: Apache-2.0
// igpu-selected: an integrated GPU beside a discrete one. Programs count it as a device; libraries
// without code for it fail, sometimes although the other device was chosen.
#include "findings/causes/causes.h"
#include "findings/causes/integrated_gpu.h"

namespace headroom::findings {
namespace {

std::optional<Hypothesis> find(const LogSubject& subject) {
  auto by_targets = find_igpu_in_the_way(subject);
  auto on_device = find_failure_on_igpu(subject);
  if (by_targets && by_targets->confidence < confidence::possible) {
    if (auto spread = find_share_without_kernels(subject)) return spread;
  }
  if (on_device && (!by_targets || on_device->confidence > by_targets->confidence)) {
    return on_device;
  }
  if (by_targets) return by_targets;
  if (auto crash = find_crash_on_first_device(subject)) return crash;
  if (auto spread = find_share_without_kernels(subject)) return spread;
  if (auto refused = find_igpu_refused_by_kfd(subject)) return refused;
  auto slow = find_slow_on_igpu(subject);
  if (!slow) slow = find_share_on_igpu(subject);
  if (!slow) slow = find_igpu_as_first_device(subject);
  return slow ? slow : find_igpu_alone(subject);
}

}  // namespace

constinit const CauseRule igpu_selected_cause = {
    .id = "igpu-selected",
    .meaning = "The job uses an integrated GPU beside the card, or fails because there is one.",
    .why =
        "Most Ryzen desktop processors contain a small GPU. ROCm lists it, sometimes first. "
        "Libraries that were not built for it fail as soon as they use it.",
    .fix = "Hide it with HIP_VISIBLE_DEVICES, or switch it off in the BIOS.",
    .explains =
        "gfx-target-missing gfx-target-dropped gpu-hang crash-loop framework-bug "
        "gpu-unsupported gfx-override-wrong managed-memory job-too-big uma-carveout-small "
        "gpu-not-used missing-library",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// known-bad-kernel: the kernel, or the ROCm on this kernel, is in the table of combinations that
// fail with this GPU. A distribution's kernel may have the change nevertheless; then the finding
// says that this is not known.
#include "findings/advisories.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  auto findings = find_advisories(subject, "kernel", "known-bad-kernel");
  auto of_rocm = find_advisories(subject, "rocm", "known-bad-kernel");
  std::move(of_rocm.begin(), of_rocm.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace

constinit const Rule known_bad_kernel_rule = {
    .id = "known-bad-kernel",
    .meaning = "This GPU is known to be unstable, or not to work, with the running kernel.",
    .why =
        "Some GPUs need changes of the kernel's compute driver. Without them jobs fail to start or "
        "hang under load, and nothing in their own output says why. Distributions backport such "
        "changes to older kernels, so the version alone does not always tell. It is reported as "
        "kernel-too-old or rocm-regression if jobs cannot work.",
    .fix = "Boot a kernel that has the change. The finding names the first one of each kind.",
    .find = find,
};

}  // namespace headroom::findings

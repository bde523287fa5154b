// SPDX-License-Identifier: Apache-2.0
// igpu-beside-discrete: an integrated AMD GPU next to a discrete one. ROCm lists both, and a job
// that takes device 0 or all of them may pick the wrong one.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::Gpu* integrated = nullptr;
  const facts::Gpu* discrete = nullptr;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!gpu.integrated) continue;
    (*gpu.integrated ? integrated : discrete) = &gpu;
  }
  if (integrated == nullptr || discrete == nullptr || !integrated->kfd_id) return {};
  Finding finding;
  finding.id = "igpu-beside-discrete";
  finding.gpu = integrated->pci;
  finding.title = fmt::format("{} sits beside {}: jobs should be told which to use",
                              title_of(*integrated), title_of(*discrete));
  finding.evidence = {show(integrated->integrated, integrated->name + " is integrated"),
                      show(discrete->integrated, discrete->name + " is a card of its own")};
  finding.fix = {
      "rocminfo | grep -E 'Marketing Name|Device Type'   (GPUs count from 0 in this order)",
      "export HIP_VISIBLE_DEVICES=N   (N: the discrete card)"};
  finding.next = "headroom check --verbose";
  return {finding};
}

}  // namespace

constinit const Rule igpu_beside_discrete_rule = {
    .id = "igpu-beside-discrete",
    .meaning = "An integrated AMD GPU sits beside a discrete one.",
    .why =
        "ROCm lists both. A job that takes device 0, or all of them, may choose the integrated "
        "one, or fail because the two need different code.",
    .fix = "Tell the job which one to use: HIP_VISIBLE_DEVICES.",
    .find = find,
};

}  // namespace headroom::findings

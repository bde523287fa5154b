// SPDX-License-Identifier: Apache-2.0
// igpu-beside-discrete: an integrated AMD GPU next to a discrete one. ROCm lists both, and a job
// that takes device 0 or all of them may pick the wrong one.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

// A job that asks for no particular device gets device 0.
void name_indices(const facts::Gpu& integrated, const facts::Gpu& discrete, Finding& finding) {
  const auto& first = integrated.connection.hip_index;
  const auto& wanted = discrete.connection.hip_index;
  if (!first || !wanted) return;
  finding.evidence.push_back(
      show(first, fmt::format("HIP counts {} as device {} and {} as device {}", integrated.name,
                              *first, discrete.name, *wanted)));
  finding.fix = {
      command(fmt::format("export HIP_VISIBLE_DEVICES={}", *wanted), "(the discrete card)")};
  if (*first > *wanted) return;
  finding.severity = Severity::warning;
  // It concerns the machine: a finding about the integrated GPU alone would decide nothing.
  finding.gpu.clear();
  finding.title = fmt::format("device 0 is {}, an integrated GPU: jobs use it instead of {}",
                              title_of(integrated), title_of(discrete));
}

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
  finding.title = fmt::format("{} is installed beside {}: tell jobs which one to use",
                              title_of(*integrated), title_of(*discrete));
  finding.evidence = {show(integrated->integrated, integrated->name + " is integrated"),
                      show(discrete->integrated, discrete->name + " is a discrete card")};
  finding.fix = {
      sentence_with(
          "See which number the discrete card has; GPUs are numbered from 0 in this order",
          "rocminfo | grep -E 'Marketing Name|Device Type'"),
      command("export HIP_VISIBLE_DEVICES=N", "(N: the discrete card)")};
  name_indices(*integrated, *discrete, finding);
  finding.next = NextCommand::fix("igpu-beside-discrete");
  return {finding};
}

}  // namespace

constinit const Rule igpu_beside_discrete_rule = {
    .id = "igpu-beside-discrete",
    .meaning = "The machine has an integrated AMD GPU and a discrete one.",
    .why =
        "ROCm lists both. A job that uses device 0, or all devices, may use the integrated one, or "
        "fail because the two need different code.",
    .fix = "Tell the job which one to use: HIP_VISIBLE_DEVICES.",
    .find = find,
};

}  // namespace headroom::findings

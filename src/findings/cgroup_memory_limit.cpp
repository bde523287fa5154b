// SPDX-License-Identifier: Apache-2.0
// cgroup-memory-limit: the control group's memory is much smaller than the GPU's, so a model that
// fits the GPU kills the job on its way there through host memory (exit code 137). Nothing has
// failed yet, so it is a warning and no cause.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// Loaders stream and keep a shard or two in memory, so with half of the GPU's memory most of them
// work.
constexpr double tight = 0.5;

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const auto& limit = machine.cgroup.memory_max;
  std::vector<Finding> findings;
  if (!limit) return findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    if (binding == nullptr || share(*limit, *binding->limit) >= tight) continue;
    if (machine.memory.total && *limit >= *machine.memory.total) continue;
    Finding finding;
    finding.id = "cgroup-memory-limit";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("the control group allows only {} of RAM, and {} has {}",
                                to_string(*limit), title_of(gpu), to_string(*binding->limit));
    finding.reasons = {
        "Models are loaded through host memory. Pinned buffers, data loaders and offloaded "
        "optimizer states stay there. Beyond the limit the kernel kills the process: exit code "
        "137, or \"Killed\" without a message."};
    finding.evidence = {show(limit, "the smallest limit from this group up to the root"),
                        show(binding->limit, "what the GPU can use")};
    if (machine.cgroup.memory_used) {
      finding.evidence.push_back(show(machine.cgroup.memory_used,
                                      to_string(*machine.cgroup.memory_used) + " of it in use"));
    }
    finding.fix = {sentence(machine.in_container()
                                ? "On the host: start the container with a larger --memory "
                                  "(Kubernetes: resources.limits.memory)."
                                : "Raise MemoryMax= of the unit that sets the limit. To find it: "
                                  "systemctl show -p MemoryMax UNIT")};
    finding.next = NextCommand::fix("cgroup-memory-limit");
    findings.push_back(std::move(finding));
    break;  // One limit applies to all GPUs, so the first one is enough.
  }
  return findings;
}

}  // namespace

constinit const Rule cgroup_memory_limit_rule = {
    .id = "cgroup-memory-limit",
    .meaning = "The control group's memory limit is smaller than the GPU's memory.",
    .why =
        "A model that fits the GPU passes through host memory first. The kernel kills what exceeds "
        "the limit, and all that you see is exit code 137.",
    .fix = "Raise the container's or the unit's memory limit.",
    .find = find,
};

}  // namespace headroom::findings

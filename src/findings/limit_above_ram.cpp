// SPDX-License-Identifier: Apache-2.0
// limit-above-ram: an APU's pool is larger than the RAM. hipMalloc then succeeds until the kernel
// kills a process, often an innocent one, because GPU memory is not charged to any control group.
#include <fmt/format.h>

#include <algorithm>

#include "facts/what_if.h"
#include "findings/advice.h"
#include "findings/apu_limits.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

// Without the limit the pool may be a carve-out that is larger than GTT is then. A smaller limit
// would bring the same pool, and leave a setting that does nothing.
bool has_carve_out_without_limit(const Subject& subject, const facts::Gpu& gpu) {
  facts::WhatIf without;
  without.pages_limit.to_default = true;
  const facts::Prediction prediction = facts::predict(subject.facts, without);
  return std::any_of(
      prediction.facts.gpus.begin(), prediction.facts.gpus.end(),
      [&](const facts::Gpu& other) { return other.pci == gpu.pci && !on_gtt(other); });
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!on_gtt(gpu) || !gpu.pool || !machine.memory.total) continue;
    const Bytes ram = *machine.memory.total;
    if (*gpu.pool <= ram) continue;
    Finding finding;
    finding.id = "limit-above-ram";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("{} is offered {}, which is more than the {} of RAM", title_of(gpu),
                                to_string(*gpu.pool), to_string(ram));
    finding.reasons = {
        "The limit was set for more RAM, for instance before the BIOS carve-out was enlarged. A "
        "job that relies on it fills the RAM, and the kernel then kills processes."};
    show_limits(gpu, machine, finding);
    finding.fix = has_carve_out_without_limit(subject, gpu)
                      ? steps_to_drop(machine, machine.ttm_module, "pages_limit")
                      : steps_to_raise({*gpu.pool, advised_gpu_limit(ram), ram}, machine);
    finding.next = NextCommand::fix("limit-above-ram");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule limit_above_ram_rule = {
    .id = "limit-above-ram",
    .meaning = "An APU's limit is larger than the RAM.",
    .why =
        "The limit is older than a change of the machine. Often the BIOS carve-out was enlarged, "
        "and the RAM that is left is smaller than pages_limit. hipMalloc then succeeds until the "
        "kernel kills processes, often innocent ones, because no control group is charged for this "
        "memory.",
    .fix = "Lower the limit to the RAM minus a reserve.",
    .find = find,
};

}  // namespace headroom::findings

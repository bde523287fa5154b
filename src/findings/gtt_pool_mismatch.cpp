// SPDX-License-Identifier: Apache-2.0
// gtt-pool-mismatch: an APU's GTT, which sysfs and Vulkan report, differs from ROCm's pool. Then
// the numbers that tools print contradict each other, and people plan with the wrong one.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

constexpr double alike = 0.02;  // Kernels round in different ways.

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!on_gtt(gpu) || !gpu.pool || !gpu.gtt_total) continue;
    const double ratio = share(*gpu.gtt_total, *gpu.pool);
    if (ratio > 1 - alike && ratio < 1 + alike) continue;
    Finding finding;
    finding.id = "gtt-pool-mismatch";
    finding.gpu = gpu.pci;
    finding.title = fmt::format("GTT of {} is {}, but ROCm's pool is {}", title_of(gpu),
                                to_string(*gpu.gtt_total), to_string(*gpu.pool));
    finding.reasons = {
        "Vulkan, and tools that print GTT, go by the first figure. hipMalloc goes by the second. "
        "Plan ROCm jobs with the pool."};
    finding.evidence = {show(gpu.gtt_total, "GTT: " + to_string(*gpu.gtt_total)),
                        show(gpu.pool, "the pool: " + to_string(*gpu.pool))};
    finding.next = NextCommand::fix("gtt-pool-mismatch");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule gtt_pool_mismatch_rule = {
    .id = "gtt-pool-mismatch",
    .meaning = "An APU's GTT, as sysfs prints it, differs from what hipMalloc can get.",
    .why =
        "GTT follows amdgpu.gttsize where that is set. The pool follows TTM's page limit. Free "
        "memory then reads higher than total memory, and frameworks that size themselves by either "
        "one fail.",
    .fix = "Remove gttsize, so that GTT follows TTM's limit. Then both are the same.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// memory-unknown: a GPU of which no limit could be read. Said, so that silence is not taken for
// health.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    // A device that amdgpu does not drive shows no memory; driver-not-loaded says so.
    const bool undriven = !gpu.folder.empty() && !gpu.vram_total && !gpu.kfd_id;
    if (gpu.ladder.binding() != nullptr || undriven) continue;
    Finding finding;
    finding.id = "memory-unknown";
    finding.gpu = gpu.pci;
    finding.title = fmt::format("no memory limit of {} could be read", title_of(gpu));
    finding.evidence = {show(gpu.vram_total, "VRAM"), show(gpu.pool, "the pool")};
    finding.next = "headroom check --verbose";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule memory_unknown_rule = {
    .id = "memory-unknown",
    .meaning = "No memory limit of this GPU could be read.",
    .why = "Silence would look like health.",
    .fix = "Ask for every fact and the reason why it is missing.",
    .find = find,
};

}  // namespace headroom::findings

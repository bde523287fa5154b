// SPDX-License-Identifier: Apache-2.0
// memory-unknown: for some GPU no limit could be read, or a fact is missing that the rules about
// its memory need. It is reported so that silence is not taken for health.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/needed_facts.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    // A device that amdgpu does not drive shows no memory; driver-not-loaded says so.
    const bool undriven = !gpu.folder.empty() && !gpu.vram_total && !gpu.kfd_id;
    if (undriven) continue;
    const auto lacking = find_needed_missing(subject.facts, gpu);
    if (gpu.ladder.binding() != nullptr && !lacking) continue;
    Finding finding;
    finding.id = "memory-unknown";
    finding.gpu = gpu.pci;
    finding.next = NextCommand::check("--verbose");
    if (gpu.ladder.binding() == nullptr) {
      finding.title = fmt::format("no memory limit of {} could be read", title_of(gpu));
      finding.evidence = {show(gpu.vram_total, "VRAM"), show(gpu.pool, "the pool")};
    } else {
      finding.title =
          fmt::format("headroom cannot tell whether {} is healthy: {} could not be read",
                      title_of(gpu), lacking->meaning);
      finding.evidence = {*lacking};
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule memory_unknown_rule = {
    .id = "memory-unknown",
    .meaning = "No memory limit of this GPU could be read.",
    .why = "If headroom said nothing, it would look as if all were well.",
    .fix = "Run headroom check --verbose: it lists every fact, and why one is missing.",
    .find = find,
};

}  // namespace headroom::findings

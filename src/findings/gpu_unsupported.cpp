// SPDX-License-Identifier: Apache-2.0
// gpu-unsupported: ROCm never ran on this GPU dependably and no setting makes it so. Memory
// settings are beside the point then, so this rule comes first.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"
#include "findings/suitability.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!gpu.support || *gpu.support != knowledge::Support::unsupported) continue;
    const auto suitability = assess(subject, gpu);
    Finding finding;
    finding.id = "gpu-unsupported";
    finding.severity = Severity::error;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("ROCm never supported {}", title_of(gpu));
    finding.reasons = suitability->reasons;
    finding.evidence = suitability->evidence;
    if (gpu.integrated && *gpu.integrated && gpu.vram_total) {
      finding.evidence.push_back(show(
          gpu.vram_total, "an integrated GPU with a carve-out of " + to_string(*gpu.vram_total)));
    }
    for (const Step& way : suitability->instead) {
      finding.fix.push_back(way);
      if (!way.is_command()) finding.fix.back().text.insert(0, "Use ");
    }
    finding.fix.push_back(sentence(
        "Do not pass /dev/kfd to containers on this machine, so that nothing tries ROCm."));
    // A test with the override would contradict what the reasons say of it.
    if (!suitability->override) {
      finding.fix.push_back(look(suitability->decides.text, suitability->decides.remark));
    }
    finding.next = NextCommand::check("--env FILE");
    finding.claim = Claim{Verdict::unsuitable, 0.97, {}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule gpu_unsupported_rule = {
    .id = "gpu-unsupported",
    .meaning = "ROCm never ran reliably on this GPU, and no setting changes that.",
    .why =
        "The kernel registers every AMD GPU and rocminfo names it, so a service starts and looks "
        "healthy. It dies when the first model is loaded, because no library contains code for the "
        "chip, or because its code was never tested.",
    .fix =
        "Run on the CPU, or use Vulkan, which does not need ROCm. Do not pass /dev/kfd to "
        "containers, so that nothing tries ROCm by itself.",
    .find = find,
};

}  // namespace headroom::findings

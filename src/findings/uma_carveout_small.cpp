// SPDX-License-Identifier: Apache-2.0
// uma-carveout-small: on this APU hipMalloc can take only the BIOS carve-out, and that is small.
// Kernels before 6.10 work like this whatever GTT says.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// An MI300A's pool is its share of the node's memory, so the shares of all its neighbours count.
Bytes sum_of_pools(const facts::Facts& facts) {
  Bytes sum;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (on_carve_out(gpu) && gpu.pool) sum += *gpu.pool;
  }
  return sum;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const facts::MachineFacts& machine = facts.machine;
  std::vector<Finding> findings;
  if (!machine.memory.total) return findings;
  for (const facts::Gpu& gpu : facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    const bool usable = !gpu.support || *gpu.support != knowledge::Support::unsupported;
    if (!usable || !on_carve_out(gpu) || binding == nullptr || !gpu.gtt_total) continue;
    const Bytes limit = *binding->limit;
    const Bytes installed = *machine.memory.total + limit;
    if (*gpu.gtt_total <= limit || share(sum_of_pools(facts), installed) >= 0.5) continue;
    Finding finding;
    finding.id = "uma-carveout-small";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("{} can use only its {} carve-out of {} of memory", title_of(gpu),
                                to_string(limit), to_string(installed));
    finding.reasons = {
        "On this kernel hipMalloc takes an APU's memory from the BIOS carve-out only. ROCm cannot "
        "use the rest of the RAM, which graphics reaches through GTT."};
    finding.evidence = {show(gpu.vram_total, "the BIOS carve-out: " + to_string(limit)),
                        show(gpu.gtt_total, "GTT, which hipMalloc does not use here: " +
                                                to_string(*gpu.gtt_total))};
    if (gpu.pool) {
      finding.evidence.insert(
          finding.evidence.begin(),
          show(gpu.pool, "the pool that ROCm offers to hipMalloc: " + to_string(*gpu.pool)));
    }
    if (machine.kernel) {
      finding.evidence.push_back(
          show(machine.kernel, "kernels before 6.10 offer ROCm only the carve-out"));
    }
    finding.fix = {sentence("Boot Linux 6.10 or later (6.16.9 or later is best). The pool then "
                            "comes from system memory."),
                   sentence("Or give the GPU more memory in the BIOS: UMA Frame Buffer Size."),
                   sentence("Or use Vulkan, which uses the carve-out and GTT together.")};
    finding.next = NextCommand::check();
    finding.claim =
        Claim{Verdict::limited, 0.85, {{"kernel-too-old", 0.4, "uname -r   (below 6.10)"}}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule uma_carveout_small_rule = {
    .id = "uma-carveout-small",
    .meaning = "hipMalloc can use only the APU's BIOS carve-out, and that is small.",
    .why = "Kernels before 6.10 never give hipMalloc system memory on an APU, whatever GTT says.",
    .fix = "Boot a newer kernel, enlarge the carve-out, or use Vulkan.",
    .find = find,
};

}  // namespace headroom::findings

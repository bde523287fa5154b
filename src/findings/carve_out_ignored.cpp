// SPDX-License-Identifier: Apache-2.0
// kernel-too-old, for APUs: kernels from 6.10 to about 6.15 put hipMalloc into system memory even
// where the BIOS carve-out is the larger of the two, and so waste it. Later ones compare first.
#include <fmt/format.h>

#include "findings/apu_limits.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto limit = find_apu_limit(gpu, machine);
    if (!limit || !gpu.vram_total || !gpu.gtt_total) continue;
    // Here a driver that compares the two would have taken the carve-out.
    if (*gpu.vram_total < *gpu.gtt_total || *gpu.vram_total <= limit->limit) continue;
    Finding finding;
    finding.id = "kernel-too-old";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("{} gets {} of RAM while its {} carve-out stays unused",
                                title_of(gpu), to_string(limit->limit), to_string(*gpu.vram_total));
    finding.reasons = {fmt::format(
        "This kernel always gives hipMalloc system memory, whatever the carve-out. TTM's limit "
        "there is {}, of the RAM that the carve-out left. Newer kernels use the larger of the two.",
        to_string(limit->limit))};
    show_limits(gpu, machine, finding);
    finding.evidence.push_back(
        show(gpu.vram_total, "the BIOS carve-out: " + to_string(*gpu.vram_total)));
    if (machine.kernel) finding.evidence.push_back(show(machine.kernel, "the kernel that runs"));
    finding.fix = {sentence("Boot Linux 6.16.9 or later. hipMalloc then uses the carve-out."),
                   sentence("Or set the carve-out to 512 MiB in the BIOS. headroom check then says "
                            "how to raise TTM's limit.")};
    finding.next = NextCommand::check();
    finding.claim = Claim{
        Verdict::limited, 0.85, {{"ttm-cap", 0.1, "uname -r   (6.16.9 or later: it is ttm-cap)"}}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule carve_out_ignored_rule = {
    .id = "kernel-too-old",
    .meaning =
        "An APU's large BIOS carve-out is unused, because the kernel gives hipMalloc system memory "
        "instead.",
    .why =
        "From Linux 6.10 on, hipMalloc takes system memory on APUs. Only from about 6.15 on does "
        "the kernel compare it with the carve-out first.",
    .fix = "Boot 6.16.9 or later, or make the carve-out small and raise TTM's limit.",
    .find = find,
};

}  // namespace headroom::findings

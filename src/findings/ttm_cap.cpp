// SPDX-License-Identifier: Apache-2.0
// ttm-cap: TTM's default lets an APU's GPU have half of the RAM, whatever the other layers say. The
// limit was taken when the driver loaded, so raising the live file later changes nothing for ROCm.
#include <fmt/format.h>

#include "findings/apu_limits.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

std::vector<std::string> explain(const facts::Gpu& gpu, const facts::MachineFacts& machine,
                                 const ApuLimit& limit) {
  std::vector<std::string> reasons = {
      fmt::format("hipMalloc takes this APU's memory from the system, and the pool is what TTM, "
                  "the kernel's memory "
                  "manager, allows: {}, its default of half the RAM.",
                  to_string(limit.limit))};
  if (gpu.gtt_total && *gpu.gtt_total > limit.limit) {
    reasons.push_back(fmt::format(
        "GTT says {}, but that is the limit of graphics; ROCm's pool does not follow it.",
        to_string(*gpu.gtt_total)));
  }
  if (machine.pages_limit && *machine.pages_limit > limit.limit) {
    reasons.push_back(
        fmt::format("TTM's limit reads {} now, so it was raised after the driver had loaded; the "
                    "pool was fixed before.",
                    to_string(*machine.pages_limit)));
  }
  return reasons;
}

// Whether a carve-out larger than the limit lies idle because of the kernel or of gttsize. Raising
// TTM's limit would help less then, so the rules for those two report it.
bool carve_out_is_the_point(const facts::Gpu& gpu, const facts::MachineFacts& machine,
                            const ApuLimit& limit) {
  if (!gpu.vram_total || *gpu.vram_total <= limit.limit) return false;
  return machine.gttsize || (gpu.gtt_total && *gpu.vram_total >= *gpu.gtt_total);
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto limit = find_apu_limit(gpu, machine);
    if (!limit || !is_small(*limit) || limit_was_set(*limit, machine)) continue;
    if (carve_out_is_the_point(gpu, machine, *limit)) continue;
    Finding finding;
    finding.id = "ttm-cap";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("{} gets {} of {} RAM: TTM's default stops at half", title_of(gpu),
                                to_string(limit->limit), to_string(limit->ram));
    finding.reasons = explain(gpu, machine, *limit);
    show_limits(gpu, machine, finding);
    finding.fix = steps_to_raise(*limit, machine);
    finding.fix.insert(
        finding.fix.begin(),
        sentence(fmt::format("raise TTM's limit to {} ({} stay with the system):",
                             to_string(limit->advised), to_string(limit->ram - limit->advised))));
    if (machine.option("amdgpu", "gttsize") != nullptr) {
      finding.fix.push_back(
          sentence("amdgpu.gttsize is deprecated and not needed any more: drop it, GTT then "
                   "follows TTM's limit"));
    }
    finding.next = NextCommand::fix("ttm-cap");
    finding.claim = Claim{Verdict::limited, 0.95, {}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule ttm_cap_rule = {
    .id = "ttm-cap",
    .meaning = "TTM's default lets an APU's GPU have half of the RAM.",
    .why =
        "hipMalloc takes system memory up to TTM's page limit as it was when the driver loaded. "
        "vm_size, gttsize and writing the file later change what other programs print, and not "
        "that.",
    .fix =
        "Set ttm.pages_limit (amdttm with AMD's DKMS driver) for the next boot, and keep a reserve "
        "for the system.",
    .find = find,
};

}  // namespace headroom::findings

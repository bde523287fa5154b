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
      fmt::format("On this APU hipMalloc takes its memory from RAM. TTM, the kernel's memory "
                  "manager, allows {}, which is its default of half the RAM.",
                  to_string(limit.limit))};
  if (gpu.gtt_total && *gpu.gtt_total > limit.limit) {
    reasons.push_back(
        fmt::format("GTT is {}, but that limit is for graphics. ROCm's pool does not follow it.",
                    to_string(*gpu.gtt_total)));
  }
  if (machine.pages_limit && *machine.pages_limit > limit.limit) {
    reasons.push_back(
        fmt::format("TTM's limit is {} now, so it was raised after the driver had loaded. The pool "
                    "had been sized before.",
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
    finding.title = fmt::format("{} gets {} of {} RAM: TTM's default limit is half", title_of(gpu),
                                to_string(limit->limit), to_string(limit->ram));
    finding.reasons = explain(gpu, machine, *limit);
    show_limits(gpu, machine, finding);
    const bool has_gttsize = machine.option("amdgpu", "gttsize") != nullptr;
    finding.fix = steps_to_raise(*limit, machine, has_gttsize);
    explain_first(fmt::format("Raise TTM's limit to {}, which leaves {} to the system",
                              to_string(limit->advised), to_string(limit->ram - limit->advised)),
                  finding.fix);
    if (has_gttsize) {
      finding.reasons.emplace_back(
          "amdgpu.gttsize is deprecated and no longer needed: without it GTT follows TTM's limit.");
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
    .meaning = "TTM's default limit gives an APU's GPU only half of the RAM.",
    .why =
        "hipMalloc takes system memory up to TTM's page limit as it was when the driver loaded. "
        "vm_size, gttsize and a later write to the file change what other programs print, but not "
        "this limit.",
    .fix =
        "Set ttm.pages_limit (amdttm.pages_limit with AMD's DKMS driver) for the next boot, and "
        "keep a reserve for the system.",
    .find = find,
};

}  // namespace headroom::findings

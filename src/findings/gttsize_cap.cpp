// SPDX-License-Identifier: Apache-2.0
// gttsize-cap: an option (amdgpu.gttsize or TTM's pages_limit) limits an APU's memory, because its
// number is too small, or because gttsize switched the pool away from a larger carve-out.
#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/apu_limits.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

Finding start(const facts::Gpu& gpu, std::string title) {
  Finding finding;
  finding.id = "gttsize-cap";
  finding.severity = Severity::warning;
  finding.gpu = gpu.pci;
  finding.title = std::move(title);
  finding.next = NextCommand::fix("gttsize-cap");
  finding.claim = Claim{Verdict::limited, 0.9, {}};
  return finding;
}

// The driver compares the carve-out with gttsize to choose the pool, but sizes it by TTM's limit: a
// large gttsize beside a large carve-out gives up the carve-out for half of what RAM is left.
bool lost_carve_out(const facts::Gpu& gpu, const facts::MachineFacts& machine,
                    const ApuLimit& limit) {
  return machine.gttsize && gpu.vram_total && *gpu.vram_total > limit.limit &&
         *machine.gttsize > *gpu.vram_total;
}

Finding make_switched(const facts::Gpu& gpu, const facts::MachineFacts& machine,
                      const ApuLimit& limit) {
  Finding finding =
      start(gpu, fmt::format("amdgpu.gttsize makes {} use {} of RAM instead of its {} carve-out",
                             title_of(gpu), to_string(limit.limit), to_string(*gpu.vram_total)));
  finding.reasons = {
      "hipMalloc takes system memory if the carve-out is smaller than GTT. gttsize made GTT the "
      "larger one, but what hipMalloc gets is TTM's limit or the RAM, and both are smaller here."};
  finding.fix = steps_to_drop(machine, "amdgpu", "gttsize");
  return finding;
}

Finding make_small(const facts::Gpu& gpu, const facts::MachineFacts& machine,
                   const ApuLimit& limit) {
  const char* knob = limit.by_gtt ? "amdgpu.gttsize" : "TTM's pages_limit";
  Finding finding =
      start(gpu, fmt::format("{} gets {} of {} RAM: {} was set to that", title_of(gpu),
                             to_string(limit.limit), to_string(limit.ram), knob));
  finding.reasons = {fmt::format("The RAM would allow {}, with {} left to the system.",
                                 to_string(limit.advised), to_string(limit.ram - limit.advised))};
  if (limit.by_gtt) {
    finding.reasons.emplace_back("gttsize is deprecated: without it GTT follows TTM's limit.");
    finding.fix = steps_to_drop(machine, "amdgpu", "gttsize");
    insert_before_reboot(
        sentence("If headroom check still shows too little after the reboot, it says how to raise "
                 "TTM's limit."),
        finding.fix);
    return finding;
  }
  finding.fix = steps_to_raise(limit, machine);
  finding.claim->alternatives = {
      {"ttm-cap", 0.1,
       "grep -r pages_limit /proc/cmdline /etc/modprobe.d   (no output: it is not set)"}};
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto limit = find_apu_limit(gpu, machine);
    if (!limit) continue;
    const bool switched = lost_carve_out(gpu, machine, *limit);
    const bool small = is_small(*limit) && limit_was_set(*limit, machine);
    if (!switched && !small) continue;
    Finding finding =
        switched ? make_switched(gpu, machine, *limit) : make_small(gpu, machine, *limit);
    show_limits(gpu, machine, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule gttsize_cap_rule = {
    .id = "gttsize-cap",
    .meaning = "Somebody set amdgpu.gttsize or pages_limit, and that is what limits the GPU now.",
    .why =
        "gttsize decides whether hipMalloc takes system memory, but not how much. The amount is "
        "TTM's limit. A large gttsize with a large carve-out gives up the carve-out for half of "
        "the RAM that is left.",
    .fix = "Remove gttsize, and set ttm.pages_limit only.",
    .find = find,
};

}  // namespace headroom::findings

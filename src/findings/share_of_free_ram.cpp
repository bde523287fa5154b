// SPDX-License-Identifier: Apache-2.0
// kernel-too-old, for APUs whose hipMalloc takes system memory under a compute driver from before
// Linux 6.7: its limits are shares of the RAM that happened to be free when it loaded. So no limit
// of TTM's lets jobs have more, and the limits differ from boot to boot.
#include <fmt/format.h>

#include "findings/apu_limits.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

constexpr const char* newer_kernel =
    "Boot Linux 6.7 or later. The compute driver then allows what TTM's limit and the RAM allow.";

Finding make(const facts::Gpu& gpu, const facts::MachineFacts& machine, const ApuLimit& limit) {
  const facts::Rung& binding = *gpu.ladder.binding();
  const std::string share_taken = binding.name == "kfd-ttm" ? "3/8" : "15/16";
  Finding finding;
  finding.id = "kernel-too-old";
  finding.severity = Severity::warning;
  finding.gpu = gpu.pci;
  finding.title =
      fmt::format("{} gets {}{} of {} RAM: this kernel's compute driver stops there", title_of(gpu),
                  binding.at_most ? "at most " : "", to_string(limit.limit), to_string(limit.ram));
  finding.reasons = {
      fmt::format("Before Linux {} it allowed {} of the RAM that was free when it loaded, which is "
                  "less than TTM's limit lets graphics have. Raising TTM's limit changes nothing "
                  "for jobs.",
                  binding.name == "kfd-ttm" ? "6.5" : "6.7", share_taken)};
  finding.evidence = {
      show(binding.limit, "the compute driver's own limit: " + to_string(limit.limit))};
  show_limits(gpu, machine, finding);
  if (machine.kernel) finding.evidence.push_back(show(machine.kernel, "the kernel that runs"));
  finding.fix = {sentence(newer_kernel)};
  finding.next = NextCommand::check();
  finding.claim = Claim{Verdict::limited, 0.85, {}};
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto limit = find_apu_limit(gpu, machine);
    if (!limit || !gpu.ladder.varies(gpu.ladder.binding()->name)) continue;
    if (share(limit->limit, limit->advised) >= worth_raising) continue;
    findings.push_back(make(gpu, machine, *limit));
  }
  return findings;
}

}  // namespace

constinit const Rule share_of_free_ram_rule = {
    .id = "share-of-free-ram",
    .meaning =
        "An old compute driver gives jobs only a share of the RAM that was free when it loaded.",
    .why =
        "Before Linux 6.5, KFD let GPUs map 3/8 of the RAM that was free when amdgpu loaded, and "
        "before 6.7 use 15/16 of it in all, whatever TTM's limit was. No setting raises that. It "
        "is reported as kernel-too-old.",
    .fix = "Boot Linux 6.7 or later.",
    .find = find,
};

}  // namespace headroom::findings

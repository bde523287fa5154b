// SPDX-License-Identifier: Apache-2.0
// gpu-was-reset: the driver's own counter says that resets have lost the contents of VRAM since it
// loaded (AMDGPU_INFO_VRAM_LOST_COUNTER). Every job that ran then died, whatever its message said.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto& lost = gpu.answers.vram_lost;
    if (!lost || *lost == 0) continue;
    Finding finding;
    finding.id = "gpu-was-reset";
    finding.severity = Severity::warning;
    finding.gpu = gpu.pci;
    finding.title =
        fmt::format("{} was reset {} and lost its memory since the driver loaded", title_of(gpu),
                    *lost == 1 ? "once" : fmt::format("{} times", *lost));
    finding.reasons = {
        "A reset follows a hang. Causes are a faulty kernel, an override, bad firmware or the "
        "power supply."};
    finding.evidence = {show(lost, "the driver's counter")};
    finding.fix = {command("sudo dmesg | grep -iE 'amdgpu.*(timeout|reset|fault|ras)'",
                           "(says when, and which ring or fault came first)")};
    finding.next = NextCommand::check("--verbose");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule vram_lost_rule = {
    .id = "gpu-was-reset",
    .meaning = "The GPU was reset since its driver loaded, and lost what was in its memory.",
    .why =
        "Jobs that ran at the time died with errors that do not mention the reset. It may happen "
        "again.",
    .fix = "Find the first message before each reset in the kernel log.",
    .find = find,
};

}  // namespace headroom::findings

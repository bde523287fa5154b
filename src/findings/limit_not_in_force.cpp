// SPDX-License-Identifier: Apache-2.0
// limit-not-in-force: TTM's limit has changed since amdgpu loaded, when ROCm's pool was fixed. A
// higher value has no effect on the pool; a lower one applies from the next allocation on
// (amdgpu_amdkfd.c reads the live value to check an allocation).
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// Limits within one per cent count as equal, since nobody raises a limit by so little.
bool are_alike(Bytes live, Bytes then) {
  const double ratio = share(live, then);
  return ratio > 0.99 && ratio < 1.01;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!on_gtt(gpu) || !machine.pages_limit) continue;
    const auto* at_load = gpu.ladder.ttm_at_load();
    if (at_load == nullptr) continue;
    const Bytes live = *machine.pages_limit;
    const Bytes then = *at_load->limit;
    if (may_be(*at_load, live) || are_alike(live, then)) continue;
    Finding finding;
    finding.id = "limit-not-in-force";
    finding.severity = live < then ? Severity::warning : Severity::info;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("TTM's limit is {} now, but was {} when the driver loaded",
                                to_string(live), to_string(then));
    finding.reasons = {
        live > then ? "The pool was sized when the driver loaded. ROCm gets the higher limit only "
                      "after a reboot, and only if the value is also set for boot."
                    : "The pool still promises the old size, but allocations beyond the "
                      "new limit fail."};
    finding.evidence = {show(machine.pages_limit, "now: " + to_string(live)),
                        show(at_load->limit, "when the driver loaded: " + to_string(then))};
    finding.fix = {command("headroom check --if reboot",
                           "(what the next boot will bring with the present settings)")};
    finding.next = NextCommand::fix("limit-not-in-force");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule limit_not_in_force_rule = {
    .id = "limit-not-in-force",
    .meaning = "TTM's page limit was written after the driver had loaded.",
    .why =
        "The file under /sys/module accepts any value at any time and looks as if it had worked. "
        "The pool that ROCm offers was sized when amdgpu loaded. A raised limit does nothing until "
        "a reboot. A lowered one makes allocations fail that the pool promises.",
    .fix = "Set the value for boot (modprobe.d and the initramfs, or the kernel command line).",
    .find = find,
};

}  // namespace headroom::findings

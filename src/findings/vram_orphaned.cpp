// SPDX-License-Identifier: Apache-2.0
// vram-orphaned: memory in use whose owner is gone. Direct evidence is a KFD process directory
// whose PID no longer exists; weaker evidence is memory that no process accounts for although all
// could be asked. Neither can be told from inside a container, where the host's processes are out
// of sight.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

Bytes of(const facts::Holder& holder) {
  return (holder.vram ? *holder.vram : Bytes{}) + (holder.gtt ? *holder.gtt : Bytes{});
}

std::vector<Step> ways_out(const facts::Gpu& gpu) {
  const std::string node =
      gpu.render_minor ? fmt::format("/dev/dri/renderD{}", *gpu.render_minor) : "/dev/dri/renderD*";
  return {
      command(fmt::format("sudo fuser -v {} /dev/kfd", node),
              "(stop what still has it open: a forked worker, a debugger or a monitoring service)"),
      sentence("Wait half a minute. The driver frees a dead process's memory in the background."),
      sentence("If the memory stays in use, reboot. That always frees it.")};
}

Finding start(const facts::Gpu& gpu, const MemoryUse& use, std::string title) {
  Finding finding;
  finding.id = "vram-orphaned";
  finding.severity = Severity::error;
  finding.gpu = gpu.pci;
  finding.title = std::move(title);
  finding.evidence = {show(
      use.used, fmt::format("{} of {} in use", to_string(*use.used), to_string(use.capacity)))};
  finding.fix = ways_out(gpu);
  finding.next = NextCommand::reclaim();
  return finding;
}

Verdict verdict_of(const MemoryUse& use) {
  return share(*use.used, use.capacity) >= full_share ? Verdict::broken : Verdict::limited;
}

// Finds processes that KFD still lists but that no longer exist.
std::optional<Finding> find_dead(const facts::Facts& facts, const facts::Gpu& gpu,
                                 const MemoryUse& use) {
  Bytes dead;
  std::vector<Evidence> evidence;
  for (const facts::Holder& holder : gpu.holders) {
    if (holder.visible) continue;
    dead += of(holder);
    evidence.push_back({holder.source.path, holder.source.line, holder.source.text,
                        fmt::format("{} held by PID {}, which is not in /proc",
                                    to_string(of(holder)), holder.pid)});
  }
  if (dead < 256_MiB) return std::nullopt;
  Finding finding = start(gpu, use,
                          fmt::format("{} of {} is held by processes that no longer exist",
                                      to_string(dead), title_of(gpu)));
  finding.evidence.insert(finding.evidence.end(), evidence.begin(), evidence.end());
  finding.reasons = {
      "The driver keeps a process's memory until its release has finished, and here the release is "
      "stuck. Nothing inside a new job (empty_cache, allocator settings) can free it."};
  finding.severity = Severity::warning;
  if (share(*use.used, use.capacity) < crowded_share || dead.value < use.used->value / 2) {
    return finding;
  }
  finding.severity = Severity::error;
  // With hidepid, or without root, another user's living process may be invisible.
  finding.claim = Claim{verdict_of(use),
                        facts.holders_complete ? 0.9 : 0.65,
                        {{"vram-held-by-other", facts.holders_complete ? 0.05 : 0.3,
                          "sudo headroom check   (root sees every process)"}}};
  return finding;
}

std::optional<Finding> find_unowned(const facts::Facts& facts, const facts::Gpu& gpu,
                                    const MemoryUse& use) {
  if (!facts.holders_complete || !gpu.accounting.unattributed) return std::nullopt;
  const Bytes unowned = *gpu.accounting.unattributed;
  const bool much = unowned >= 1_GiB && share(unowned, use.capacity) >= 0.25;
  if (!much || share(*use.used, use.capacity) < crowded_share) return std::nullopt;
  Finding finding = start(gpu, use,
                          fmt::format("{} of {} is in use, and no process holds it",
                                      to_string(unowned), title_of(gpu)));
  finding.evidence.push_back(
      show(gpu.accounting.unattributed, to_string(unowned) + " without a holder"));
  finding.reasons = {
      "headroom looked at every process of this machine. Together they hold far less than the "
      "driver counts. A driver keeps only a few hundred MiB for itself."};
  finding.claim = Claim{
      verdict_of(use), 0.7, {{"vram-held-by-other", 0.2, "sudo fuser -v /dev/kfd /dev/dri/*"}}};
  return finding;
}

// Memory that is lost until a reboot counts from this share on, even if the GPU is not crowded.
constexpr double noticeable_share = 0.25;

// Looks at KFD's own account, which only root can read: without a living compute process it should
// be zero.
std::optional<Finding> find_leak(const facts::Facts& facts, const facts::Gpu& gpu,
                                 const MemoryUse& use) {
  const auto& used =
      on_gtt(gpu) ? facts.machine.kfd_limits.ttm_used : facts.machine.kfd_limits.system_used;
  if (!facts.kfd_processes.empty() || !used || *used < 256_MiB) return std::nullopt;
  Finding finding = start(
      gpu, use,
      fmt::format("the compute driver counts {} in use but lists no process", to_string(*used)));
  finding.severity = Severity::warning;
  finding.evidence.push_back(show(used, "KFD's own counter of system memory"));
  finding.evidence.push_back({"/sys/class/kfd/kfd/proc", 0, "empty", "KFD lists no process"});
  finding.reasons = {"KFD counts memory there until its release has finished."};
  if (on_gtt(gpu) && share(*used, use.capacity) >= noticeable_share) {
    finding.severity = Severity::error;
    finding.claim =
        Claim{share(*used, use.capacity) >= full_share ? Verdict::broken : Verdict::limited,
              0.9,
              {{"vram-held-by-other", 0.05, "sudo fuser -v /dev/kfd /dev/dri/*"}}};
  }
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  std::vector<Finding> findings;
  if (facts.machine.in_container() || !facts.machine.processes_visible) return findings;
  for (const facts::Gpu& gpu : facts.gpus) {
    const auto use = memory_use(gpu);
    if (!use) continue;
    auto finding = find_dead(facts, gpu, *use);
    if (!finding) finding = find_leak(facts, gpu, *use);
    if (!finding) finding = find_unowned(facts, gpu, *use);
    if (finding) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule vram_orphaned_rule = {
    .id = "vram-orphaned",
    .meaning = "GPU memory is in use and its owner is gone.",
    .why =
        "The driver frees memory when the last handle to it is closed. A forked child, a debugger, "
        "a monitoring service or a release that is stuck in the kernel keeps it. No setting inside "
        "a new job can free it.",
    .fix =
        "Find the process that still has the device open, and end it. Wait half a minute. If the "
        "memory stays in use, reboot.",
    .find = find,
};

}  // namespace headroom::findings

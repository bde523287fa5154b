// SPDX-License-Identifier: Apache-2.0
// driver-not-loaded: an AMD GPU is on PCI, but amdgpu does not drive it.
#include <fmt/format.h>

#include "facts/kernel_release.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

// Captures may lack the link that names the driver; memory counters and a KFD node prove amdgpu as
// well.
bool has_driver(const facts::Gpu& gpu) {
  if (gpu.folder.empty() || gpu.vram_total || gpu.kfd_id) return true;
  if (gpu.driver) return *gpu.driver == "amdgpu" || *gpu.driver == "radeon";
  return gpu.driver.missing().why != facts::Why::not_present;
}

bool is_forbidden(const facts::MachineFacts& machine) {
  const auto* option = machine.option("modprobe", "blacklist");
  return option != nullptr && option->value.find("amdgpu") != std::string::npos;
}

// The first kernel that knows the GPU, if the running one is older and that is why no driver has
// the GPU; else nullptr. AMD's DKMS driver brings new chips to old kernels.
const knowledge::FirstKernel* too_old_for(const Subject& subject, const facts::Gpu& gpu) {
  const facts::Text& running = subject.facts.machine.kernel;
  const auto version = running ? facts::parse_kernel_version(*running) : std::nullopt;
  const facts::MachineFacts& machine = subject.facts.machine;
  if (!version || !gpu.gfx || machine.driver_version || is_forbidden(machine)) return nullptr;
  for (const knowledge::FirstKernel& first : subject.tables.advisories.first_kernels) {
    const bool older = facts::in_range(*version, {"0", std::string(first.since)});
    if (first.gfx == *gpu.gfx && older) return &first;
  }
  return nullptr;
}

// A kernel from before the chip has an amdgpu, but that does not take the GPU.
void blame_kernel(const Subject& subject, const facts::Gpu& gpu,
                  const knowledge::FirstKernel& first, Finding& finding) {
  finding.id = "kernel-too-old";
  finding.title = fmt::format("no driver is bound to {}: Linux {} is older than this GPU",
                              title_of(gpu), *subject.facts.machine.kernel);
  finding.reasons = {
      fmt::format("amdgpu knows {} from about Linux {} on, unless AMD's DKMS driver is installed.",
                  first.gfx, first.since)};
  finding.evidence = {show(gpu.driver, "the device is on the PCI bus, and no driver is bound"),
                      show(subject.facts.machine.kernel, "the running kernel")};
  finding.fix = {
      sentence(fmt::format("Boot Linux {} or later, with the newest linux-firmware.", first.since)),
      command("sudo dmesg | grep -i amdgpu", "(what amdgpu says about it, if it is loaded)")};
  finding.claim =
      Claim{Verdict::broken,
            0.85,
            {{"driver-not-loaded", 0.15, "lsmod | grep amdgpu; sudo dmesg | grep amdgpu"}}};
}

void add_blacklist(const facts::MachineFacts& machine, Finding& finding) {
  if (!is_forbidden(machine)) return;
  const auto* option = machine.option("modprobe", "blacklist");
  finding.evidence.push_back({option->source.path, option->source.line, option->source.text,
                              "the kernel command line forbids amdgpu"});
  finding.fix.insert(finding.fix.begin(),
                     sentence("Remove " + option->source.text + " from the kernel command line."));
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (has_driver(gpu)) continue;
    Finding finding;
    finding.id = "driver-not-loaded";
    finding.severity = Severity::error;
    finding.gpu = gpu.pci;
    finding.claim = Claim{Verdict::broken, 0.95, {}};
    finding.next = NextCommand::check();
    if (gpu.driver) {
      finding.title =
          fmt::format("{} is bound to the driver {}, not to amdgpu", title_of(gpu), *gpu.driver);
      finding.evidence.push_back(show(gpu.driver, "the driver that has it"));
      finding.fix = {sentence(fmt::format(
          "{}give it back: take its id out of {}'s options, then reboot",
          *gpu.driver == "vfio-pci"
              ? "it is reserved for a virtual machine; run headroom in that machine, or "
              : "",
          *gpu.driver))};
    } else if (const auto* first = too_old_for(subject, gpu)) {
      blame_kernel(subject, gpu, *first, finding);
    } else {
      finding.title =
          fmt::format("no driver is bound to {}: amdgpu is not loaded for it", title_of(gpu));
      finding.evidence.push_back(
          show(gpu.driver, "the device is on the PCI bus, and no driver is bound"));
      finding.fix = {command("sudo modprobe amdgpu"),
                     command("sudo dmesg | grep -iE 'amdgpu|secure boot|lockdown'",
                             "(if it fails, this says why: a DKMS module not built or not signed, "
                             "missing firmware, an old kernel)")};
      finding.claim->alternatives = {
          {"kernel-too-old", 0.2, "sudo dmesg | grep -iE 'amdgpu.*(unknown|unsupported|fail)'"}};
    }
    add_blacklist(subject.facts.machine, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule driver_not_loaded_rule = {
    .id = "driver-not-loaded",
    .meaning = "An AMD GPU is on the PCI bus, and the kernel module amdgpu does not drive it.",
    .why =
        "Without amdgpu there are no device nodes, no memory and no compute. Usual reasons: Secure "
        "Boot refuses an unsigned module, a DKMS build failed after a kernel update, the module is "
        "blacklisted, or the card is reserved for a virtual machine.",
    .fix =
        "Load the module, and read in the kernel log why it fails. Or give the card back from "
        "vfio-pci.",
    .find = find,
};

}  // namespace headroom::findings

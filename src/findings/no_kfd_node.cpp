// SPDX-License-Identifier: Apache-2.0
// amdgpu drives a GPU that KFD does not list: graphics works, but ROCm does not see the GPU. For
// most consumer chips the reason is PCIe atomics (pcie-atomics); otherwise the kernel's KFD does
// not know the chip or does not exist (kernel-too-old).
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"
#include "findings/suitability.h"

namespace headroom::findings {
namespace {

Step ask_the_log() {
  return command("sudo dmesg | grep -iE 'kfd|atomics'",
                 "(\"PCI rejects atomics\", or \"not supported in kfd\")");
}

// From some firmware version on, the chip works without PCIe atomics (kfd_device.c,
// no_atomic_fw_version).
bool needs_atomics(const knowledge::Target& target, const facts::Gpu& gpu) {
  const auto mec = gpu.firmware.version("mec");
  const bool does_without = mec && target.mec_without_atomics &&
                            *mec >= static_cast<std::uint64_t>(*target.mec_without_atomics);
  return target.pcie_atomics && !does_without;
}

void blame_atomics(const knowledge::Target& target, const facts::Gpu& gpu, Finding& finding) {
  finding.id = "pcie-atomics";
  finding.reasons = {fmt::format(
      "KFD skips {} if its slot or a switch above it does not support PCIe atomics and the card's "
      "firmware is too old to work without them. Chipset slots and risers often lack them.",
      target.gfx)};
  finding.fix = {ask_the_log(), sentence("Move the card to a slot that is wired to the CPU.")};
  double confidence = 0.7;
  if (target.mec_without_atomics) {
    finding.fix.push_back(sentence(fmt::format(
        "Update linux-firmware and reboot. From MEC firmware {} on, {} does not need atomics.",
        *target.mec_without_atomics, target.gfx)));
    if (const auto mec = gpu.firmware.version("mec")) {
      confidence = 0.85;
      finding.evidence.push_back(
          show(mec, fmt::format("its MEC firmware is {}, which needs atomics", *mec)));
    }
  }
  finding.claim =
      Claim{Verdict::broken, confidence, {{"kernel-too-old", 0.25, ask_the_log().whole()}}};
}

void blame_kernel(const facts::Facts& facts, bool kfd_there, Finding& finding) {
  finding.id = "kernel-too-old";
  const std::string kernel = facts.machine.kernel ? *facts.machine.kernel : "this kernel";
  finding.reasons = {kfd_there ? "The compute driver of " + kernel + " does not support this chip."
                               : kernel + " has no compute driver (CONFIG_HSA_AMD)."};
  finding.fix = {ask_the_log(), sentence("Boot a newer kernel of your distribution.")};
  finding.claim = Claim{Verdict::broken, 0.6, {{"pcie-atomics", 0.2, ask_the_log().whole()}}};
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const bool kfd_there = facts.kfd_present && *facts.kfd_present;
  // A capture without /dev may simply lack this folder too.
  const bool kfd_missing = !kfd_there && facts.machine.dev_visible && !facts.machine.in_container();
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (!lacks_compute_node(facts, gpu)) continue;
    if (!kfd_there && !kfd_missing) continue;
    Finding finding;
    finding.severity = Severity::error;
    finding.gpu = gpu.pci;
    finding.title = kfd_there ? fmt::format("the compute driver skipped {}", title_of(gpu))
                              : "the kernel has no compute driver (KFD)";
    finding.evidence = {show(gpu.kfd_id, "no compute node for this GPU")};
    if (gpu.vram_total) {
      finding.evidence.push_back(show(gpu.vram_total, "amdgpu itself drives the card"));
    }
    const auto* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
    if (kfd_there && target != nullptr && needs_atomics(*target, gpu)) {
      blame_atomics(*target, gpu, finding);
    } else {
      blame_kernel(facts, kfd_there, finding);
    }
    finding.next = NextCommand::check();
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule no_kfd_node_rule = {
    .id = "no-kfd-node",
    .meaning = "amdgpu drives the card, but the compute driver, KFD, does not list it.",
    .why =
        "Graphics works, but ROCm does not see the card. For many consumer chips the reason is a "
        "slot without PCIe atomics. Otherwise this kernel's KFD does not know the chip. It is "
        "reported as "
        "pcie-atomics or kernel-too-old.",
    .fix =
        "Look in the kernel log for the reason. Then use another slot, newer firmware or a newer "
        "kernel.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// iommu-not-passthrough: with several GPUs, the IOMMU translates their DMA, so what they send to
// each other is slow, or hangs.
#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  const auto gpus = job_gpus(subject.facts);
  const facts::Gpu* translated = nullptr;
  for (const facts::Gpu* gpu : gpus) {
    const auto& mode = gpu->connection.iommu;
    if (mode && *mode == facts::IommuMode::translated && translated == nullptr) translated = gpu;
  }
  // XGMI traffic does not pass the IOMMU.
  if (translated == nullptr || !any_pair_on_pcie(subject.facts, gpus)) return {};
  Finding finding;
  finding.id = "iommu-not-passthrough";
  finding.severity = Severity::warning;
  finding.title = fmt::format("the IOMMU translates what {} GPUs send to each other", gpus.size());
  finding.reasons = {
      "Without XGMI, RCCL and peer copies between cards go over PCIe. If the IOMMU translates "
      "them, they are slow on some boards and never end on others."};
  finding.evidence = {
      show(translated->connection.iommu, "DMA of " + translated->pci + " is translated")};
  finding.fix = steps_to_boot_with(subject.facts.machine, "iommu=pt");
  finding.fix.insert(finding.fix.begin(),
                     sentence("Until the reboot below, set NCCL_P2P_DISABLE=1. RCCL then goes "
                              "through RAM, which is slower but does not hang."));
  finding.next = NextCommand::fix("iommu-not-passthrough");
  return {finding};
}

}  // namespace

constinit const Rule iommu_translates_rule = {
    .id = "iommu-not-passthrough",
    .meaning =
        "Several GPUs on PCIe, and the IOMMU translates their DMA instead of passing it through.",
    .why =
        "Peer copies and RCCL's collectives are very slow, or hang without an error (cause "
        "rccl-p2p).",
    .fix =
        "Boot with iommu=pt. The host's own devices are then not translated, and virtual machines "
        "stay isolated.",
    .find = find,
};

}  // namespace headroom::findings

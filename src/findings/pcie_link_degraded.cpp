// SPDX-License-Identifier: Apache-2.0
// pcie-link-degraded: a link between a card and the CPU runs on fewer lanes than both of its ends
// have. The link's speed says nothing, because amdgpu lowers it while the card is idle.
#include <fmt/format.h>

#include <algorithm>

#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

// Finds the card's link that lacks the most lanes.
const facts::PcieHop* find_narrow(const facts::Gpu& gpu) {
  const facts::PcieHop* narrow = nullptr;
  for (const facts::PcieHop& hop : gpu.connection.hops) {
    const bool fewer = hop.width && hop.possible_width && *hop.width < *hop.possible_width;
    if (fewer && (narrow == nullptr || *hop.width < *narrow->width)) narrow = &hop;
  }
  return narrow;
}

Finding make(const facts::Gpu& gpu, const facts::PcieHop& hop) {
  Finding finding;
  finding.id = "pcie-link-degraded";
  finding.severity = Severity::warning;
  finding.gpu = gpu.pci;
  finding.title =
      fmt::format("{} runs on {} of {} PCIe lanes", title_of(gpu), *hop.width, *hop.possible_width);
  finding.reasons = {
      "Both ends of the link have more lanes than are in use. Loading a model and copying between "
      "cards take longer; nothing else does."};
  finding.evidence = {
      show(hop.width, fmt::format("{} lanes in use at {}", *hop.width, hop.lower)),
      show(hop.possible_width, fmt::format("{} lanes are possible", *hop.possible_width))};
  finding.fix = {
      command(fmt::format("sudo lspci -s {} -vv | grep -E 'LnkCap|LnkSta'", hop.lower),
              "(under load: some cards reduce their lanes while idle)"),
      sentence(
          "Switch the power off. Reseat the card, clean its contacts, and try it without a riser."),
      sentence("Check in the firmware setup whether the slot is split (bifurcation) or shared with "
               "an M.2 socket.")};
  finding.next = NextCommand::check("--verbose");
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  std::vector<std::string> folders;  // Partitions of a card share its link.
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (gpu.integrated && *gpu.integrated) continue;
    const auto* narrow = find_narrow(gpu);
    const bool again = std::find(folders.begin(), folders.end(), gpu.folder) != folders.end();
    if (narrow == nullptr || again) continue;
    folders.push_back(gpu.folder);
    findings.push_back(make(gpu, *narrow));
  }
  return findings;
}

}  // namespace

constinit const Rule pcie_link_degraded_rule = {
    .id = "pcie-link-degraded",
    .meaning = "A PCIe link of the card runs on fewer lanes than both of its ends have.",
    .why =
        "The card may be loose, the riser bad or the slot split. Loading and peer copies are slow, "
        "and errors often follow.",
    .fix = "Compare under load. Then reseat the card, or change the slot or the firmware setting.",
    .find = find,
};

}  // namespace headroom::findings

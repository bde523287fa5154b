// SPDX-License-Identifier: Apache-2.0
// acs-blocks-peers: two GPUs sit below one switch, and access control (ACS) sends what they
// exchange up to the CPU instead of straight across.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  const auto gpus = job_gpus(subject.facts);
  if (gpus.size() < 2) return {};
  std::vector<std::string> ports;
  Finding finding;
  for (const facts::PortBetween& port : subject.facts.interconnect.ports) {
    if (!port.redirects || !*port.redirects) continue;
    ports.push_back(port.pci);
    finding.evidence.push_back(show(port.redirects, port.pci + " redirects requests upwards"));
  }
  if (ports.empty()) return {};
  finding.id = "acs-blocks-peers";
  finding.severity = Severity::warning;
  finding.title = fmt::format(
      "ACS on {} keeps GPUs below one switch from reaching each other directly", join(ports, ", "));
  finding.reasons = {
      "With ACS redirection every peer request goes up to the CPU and back. That is slower than "
      "the switch could be. Where the CPU does not forward peer requests, the transfer hangs."};
  finding.fix = {
      sentence("Switch ACS off in the firmware setup, unless a virtual machine is given a device "
               "of its own.")};
  for (const std::string& port : ports) {
    finding.fix.push_back(
        command(fmt::format("sudo setpci -s {} ECAP_ACS+6.w=0000", port), "(until the next boot)"));
  }
  finding.next = NextCommand::check("--verbose");
  return {finding};
}

}  // namespace

constinit const Rule acs_blocks_peers_rule = {
    .id = "acs-blocks-peers",
    .meaning = "A switch above several GPUs redirects their peer requests to the CPU (ACS).",
    .why = "Copies between these GPUs take a detour through the CPU. RCCL is slow or hangs.",
    .fix =
        "Switch ACS off on the switch's ports, in the firmware setup or with setpci, unless "
        "devices are passed to virtual machines.",
    .find = find,
};

}  // namespace headroom::findings

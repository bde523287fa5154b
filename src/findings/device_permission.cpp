// SPDX-License-Identifier: Apache-2.0
// device-permission: the GPU's device nodes exist, but this user or container may not use them.
// This is known only on the running system, or if a container's device rules hide a GPU's KFD node.
#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

Finding make(std::string gpu, std::string title) {
  Finding finding;
  finding.id = "device-permission";
  finding.severity = Severity::error;
  finding.gpu = std::move(gpu);
  finding.title = std::move(title);
  finding.next = NextCommand::fix("device-permission");
  finding.claim = Claim{Verdict::broken, 0.9, {}};
  return finding;
}

// Reports a GPU that a container may not use. If the container has other GPUs, this is most likely
// meant, and worth only a remark.
Finding make_withheld(const facts::Gpu& gpu, const facts::MachineFacts& machine, bool others) {
  Finding finding =
      make(gpu.pci, machine.in_container()
                        ? fmt::format("{} was not passed to this container", title_of(gpu))
                        : fmt::format("this session may not use {}", title_of(gpu)));
  finding.evidence = {show(gpu.kfd_id, "reading the compute driver's node for it is refused")};
  if (gpu.render_node && !*gpu.render_node) {
    finding.evidence.push_back(
        {gpu.render_node.source().path, 0, "not there", "its render node was not passed"});
  }
  finding.fix = {sentence(
      machine.in_container()
          ? "On the host: " + pass_devices_command(*machine.container)
          : "Run it outside the service or slice whose DevicePolicy= forbids the device.")};
  if (others) {
    finding.severity = Severity::info;
    finding.claim.reset();
  } else {
    finding.claim->confidence = 0.8;
  }
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  std::vector<Finding> findings;
  const auto& kfd = facts.machine.kfd_usable;
  if (kfd && !*kfd && !facts.gpus.empty()) {
    Finding finding = make("", "you do not have permission to open /dev/kfd, which ROCm needs");
    finding.evidence = {{"/dev/kfd", 0, "no permission", "you may not read and write it"}};
    finding.fix = {command("sudo usermod -aG render,video \"$USER\""),
                   sentence("Log out and log in again."), look("headroom check")};
    if (facts.machine.in_container()) {
      finding.fix = {
          sentence("On the host: " + pass_devices_command(*facts.machine.container)),
          sentence(
              "A rootless container also needs the host's render group: --group-add keep-groups")};
    }
    findings.push_back(std::move(finding));
  }
  bool readable = false;
  for (const facts::Gpu& gpu : facts.gpus) readable = readable || gpu.kfd_id.known();
  for (const facts::Gpu& gpu : facts.gpus) {
    const bool withheld = !gpu.kfd_id && facts.kfd_nodes_withheld > 0 &&
                          gpu.kfd_id.missing().why == facts::Why::no_permission;
    if (withheld) findings.push_back(make_withheld(gpu, facts.machine, readable));
    const bool refused = gpu.render_usable && !*gpu.render_usable && kfd && *kfd;
    if (!refused) continue;
    Finding finding = make(
        gpu.pci,
        fmt::format("you do not have permission to open the render node of {}", title_of(gpu)));
    finding.evidence = {
        {gpu.render_usable.source().path, 0, "no permission", "you may not open it"}};
    finding.fix = {command("sudo usermod -aG render,video \"$USER\""),
                   sentence("Log out and log in again."), look("headroom check")};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule device_permission_rule = {
    .id = "device-permission",
    .meaning = "The device nodes exist, but this user or this container may not use them.",
    .why =
        "/dev/kfd and /dev/dri/renderD* belong to the groups render and video. Inside a container "
        "the numbers of those groups are the host's, and the engine's device rules can hide a GPU "
        "completely.",
    .fix =
        "Join the groups and log in again. For a container, pass the devices and the host's group.",
    .find = find,
};

}  // namespace headroom::findings

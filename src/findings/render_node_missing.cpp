// SPDX-License-Identifier: Apache-2.0
// render-node-missing: /dev/kfd exists, but a GPU's render node does not. ROCm opens both; with
// /dev/kfd alone it lists the GPU and fails when it is used, or does not list it.
#include <fmt/format.h>

#include <algorithm>

#include "findings/advice.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

bool lacks_node(const facts::Gpu& gpu) {
  return gpu.kfd_id && gpu.render_node && !*gpu.render_node;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const facts::MachineFacts& machine = facts.machine;
  std::vector<Finding> findings;
  if (!machine.dev_visible || !machine.dev_kfd || !*machine.dev_kfd) return findings;
  const bool another_works = std::any_of(
      facts.gpus.begin(), facts.gpus.end(),
      [](const facts::Gpu& gpu) { return gpu.kfd_id && gpu.render_node && *gpu.render_node; });
  for (const facts::Gpu& gpu : facts.gpus) {
    if (!lacks_node(gpu)) continue;
    Finding finding;
    finding.id = another_works ? "render-node-missing" : "device-permission";
    finding.severity = another_works ? Severity::info : Severity::error;
    finding.gpu = gpu.pci;
    finding.title = fmt::format("{} has no render node here", title_of(gpu));
    finding.reasons = {
        "ROCm opens /dev/kfd and the GPU's render node. Only the first exists here."};
    finding.evidence = {{gpu.render_node.source().path, 0, "not there", "the node that ROCm opens"},
                        {"/dev/kfd", 0, "there", "the compute driver's own node"}};
    finding.fix = {
        machine.in_container()
            ? sentence("On the host: " + pass_devices_command(*machine.container))
            : command("sudo udevadm trigger --subsystem-match=drm", "(creates the nodes again)")};
    finding.next = NextCommand::check();
    if (!another_works) finding.claim = Claim{Verdict::broken, 0.85, {}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule render_node_missing_rule = {
    .id = "render-node-missing",
    .meaning = "/dev/kfd exists, but the GPU's render node does not.",
    .why =
        "ROCm needs both. People pass /dev/kfd to a container and forget /dev/dri, and rocminfo "
        "then finds no GPU. If no GPU is usable, it is reported as device-permission.",
    .fix = "Pass /dev/dri too, or let udev create the node again.",
    .find = find,
};

}  // namespace headroom::findings

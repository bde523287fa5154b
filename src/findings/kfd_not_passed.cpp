// SPDX-License-Identifier: Apache-2.0
// kfd-not-passed: the host has the compute driver and this container was not given its device node.
// Graphics works through the render node alone, so everything looks fine until ROCm starts.
#include "findings/advice.h"
#include "findings/rules.h"

namespace headroom::findings {

namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const facts::MachineFacts& machine = facts.machine;
  const bool host_has_it = facts.kfd_present && *facts.kfd_present;
  const bool passed = machine.dev_kfd && *machine.dev_kfd;
  if (!machine.in_container() || !machine.dev_visible || !host_has_it || passed ||
      facts.gpus.empty()) {
    return {};
  }
  Finding finding;
  finding.id = "kfd-not-passed";
  finding.severity = Severity::error;
  finding.title = "this container was not given /dev/kfd, which ROCm needs";
  finding.evidence = {
      show(machine.container, "this is a " + *machine.container + " container"),
      {facts.kfd_present.source().path, 0, "there", "the host's kernel has the compute driver"},
      {"/dev/kfd", 0, "not there", "the container has no node for it"},
  };
  for (const facts::Gpu& gpu : facts.gpus) {
    if (gpu.render_node && *gpu.render_node) {
      finding.evidence.push_back(
          {gpu.render_node.source().path, 0, "there",
           "the render node was passed, but that is enough for graphics only"});
    }
  }
  finding.fix = {sentence("On the host: " + pass_devices_command(*machine.container)),
                 look("headroom check")};
  finding.next = NextCommand::check();
  finding.claim = Claim{Verdict::broken, 0.95, {}};
  return {finding};
}

}  // namespace

constinit const Rule kfd_not_passed_rule = {
    .id = "kfd-not-passed",
    .meaning =
        "The host has the compute driver, but its device node, /dev/kfd, was not passed to this "
        "container.",
    .why =
        "Graphics needs only the render node, so everything looks right until ROCm starts and "
        "finds no GPU.",
    .fix = "Start the container with both: /dev/kfd and /dev/dri.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// mixed-targets: cards of different targets in one machine. A wheel must carry each of them, and
// jobs over all of them go at the pace of the slowest.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  std::vector<std::string> targets;
  Finding finding;
  for (const facts::Gpu* gpu : job_gpus(subject.facts)) {
    if (!gpu->gfx || std::find(targets.begin(), targets.end(), *gpu->gfx) != targets.end())
      continue;
    targets.push_back(*gpu->gfx);
    finding.evidence.push_back(show(gpu->gfx, gpu->name + " is " + *gpu->gfx));
  }
  if (targets.size() < 2) return {};
  finding.id = "mixed-targets";
  finding.title = fmt::format("the GPUs are of {} targets: what is installed must carry {}",
                              targets.size(), join(targets, " and "));
  finding.fix = {sentence("for one of them only: export HIP_VISIBLE_DEVICES=N   (headroom check "
                          "--verbose shows which N is which)"),
                 sentence("an HSA_OVERRIDE_GFX_VERSION acts on all; per GPU it is "
                          "HSA_OVERRIDE_GFX_VERSION_NODE, NODE as KFD numbers it")};
  finding.next = NextCommand::check("--verbose");
  return {finding};
}

}  // namespace

constinit const Rule mixed_targets_rule = {
    .id = "mixed-targets",
    .meaning = "The machine's cards have different targets.",
    .why =
        "A library without code for one of them fails on that one, and an override set for one is "
        "wrong for the other.",
    .fix = "Install builds that carry every target, or show the job one kind of card.",
    .find = find,
};

}  // namespace headroom::findings

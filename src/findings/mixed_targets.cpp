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
  finding.title =
      fmt::format("the GPUs have {} different targets: what you install must include {}",
                  targets.size(), join(targets, " and "));
  finding.fix = {sentence("To use only one of them: export HIP_VISIBLE_DEVICES=N   (headroom check "
                          "--verbose shows which N is which)"),
                 sentence("HSA_OVERRIDE_GFX_VERSION acts on all of them. For a single GPU it is "
                          "HSA_OVERRIDE_GFX_VERSION_NODE, with KFD's number of the node.")};
  finding.next = NextCommand::check("--verbose");
  return {finding};
}

}  // namespace

constinit const Rule mixed_targets_rule = {
    .id = "mixed-targets",
    .meaning = "The machine's cards have different targets.",
    .why =
        "A library without code for one of them fails on that one. An override that one needs is "
        "wrong for the other.",
    .fix = "Install builds that include every target, or let the job see only one kind of card.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// community-target: what to know about a target that AMD does not list but that can be used, or
// that headroom's table does not have. It is a remark, not a cause.
#include <fmt/format.h>

#include <algorithm>

#include "findings/memory_use.h"
#include "findings/rules.h"
#include "findings/suitability.h"

namespace headroom::findings {
namespace {

Finding make_unknown(const facts::Gpu& gpu) {
  Finding finding;
  finding.id = "unknown-target";
  finding.gpu = gpu.pci;
  finding.title = fmt::format("headroom does not know whether ROCm supports {}", title_of(gpu));
  finding.evidence = {show(gpu.support, "headroom's table of targets does not list it")};
  finding.fix = {sentence("Look it up in ROCm's list of supported GPUs.")};
  finding.next = NextCommand::check("--verbose");
  return finding;
}

// As for the last line of the text: what is not installed yet comes before a plan for a job, unless
// another GPU here has PyTorch's own wheels.
bool lacks_stack(const facts::Facts& facts) {
  const bool all = std::all_of(facts.gpus.begin(), facts.gpus.end(), [](const facts::Gpu& gpu) {
    return gpu.support && (*gpu.support == knowledge::Support::community ||
                           *gpu.support == knowledge::Support::override);
  });
  return all && !facts.python.torch.version;
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    if (!gpu.support) {
      findings.push_back(make_unknown(gpu));
      continue;
    }
    const bool community = *gpu.support == knowledge::Support::community;
    if (!community && *gpu.support != knowledge::Support::override) continue;
    const auto suitability = assess(subject, gpu);
    Finding finding;
    finding.id = "community-target";
    finding.gpu = gpu.pci;
    finding.title =
        community
            ? fmt::format("{} is not on AMD's list, but AMD's wheels (TheRock) include it",
                          title_of(gpu))
            : fmt::format("{} works only with the code of a closely related target", title_of(gpu));
    finding.reasons = suitability->reasons;
    finding.evidence = suitability->evidence;
    finding.fix = suitability->install;
    if (community && suitability->override) {
      const OverrideAdvice& other = *suitability->override;
      finding.fix.push_back(sentence_with(
          fmt::format("With PyTorch's own wheels, which do not include it, run a near "
                      "target's code (risk: {}; {})",
                      to_string(other.risk), other.why),
          "export HSA_OVERRIDE_GFX_VERSION=" + other.value));
    }
    finding.fix.push_back(
        sentence("Then run this test; it decides, and must print True True (if it prints False, or "
                 "dies, do not "
                 "use this way: results would be wrong):"));
    finding.fix.push_back(suitability->decides);
    finding.next = lacks_stack(subject.facts) ? NextCommand::stack() : NextCommand::plan();
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule community_target_rule = {
    .id = "community-target",
    .meaning = "AMD does not list the target, but it can be used.",
    .why =
        "TheRock builds ROCm and PyTorch for targets that AMD's list leaves out; PyTorch's own "
        "wheels often lack them.",
    .fix = "Use wheels that include the target. An override is the second choice.",
    .find = find,
};

}  // namespace headroom::findings

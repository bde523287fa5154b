// SPDX-License-Identifier: Apache-2.0
// mask-names-missing: a word of a mask names no GPU, or names one a second time. The runtime
// ignores it and every word after it, without a message.
#include <fmt/format.h>

#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

std::string count_of(const facts::Facts& facts, const std::string& variable) {
  std::size_t nodes = 0, left = 0;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (gpu.kfd_node) ++nodes;
    if (gpu.connection.rocr_index) ++left;
  }
  if (variable == "ROCR_VISIBLE_DEVICES") return fmt::format("{} GPUs, counted from 0", nodes);
  return fmt::format("{} GPUs after ROCR_VISIBLE_DEVICES, counted from 0", left);
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  std::vector<Finding> findings;
  for (const facts::RejectedWord& wrong : facts.mask_errors) {
    Finding finding;
    finding.id = "mask-names-missing";
    finding.severity = Severity::warning;
    finding.title = fmt::format(
        "\"{}\" in {} names no GPU of this machine, or names one twice, and the list ends there",
        wrong.word, wrong.variable);
    for (const facts::Mask& mask : facts.masks) {
      if (mask.variable != wrong.variable) continue;
      finding.evidence.push_back({mask.source.path, mask.source.line, mask.source.text,
                                  "there are " + count_of(facts, wrong.variable)});
    }
    finding.fix = {sentence_with("See the order, in which GPUs are numbered from 0",
                                 "rocminfo | grep -E 'Marketing Name|Uuid'"),
                   sentence("Correct " + wrong.variable + ", or unset it.")};
    finding.next = NextCommand::check("--verbose");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule mask_names_missing_rule = {
    .id = "mask-names-missing",
    .meaning = "A word of a visible-devices mask names no GPU.",
    .why =
        "The runtimes read a mask from the left and stop silently at the first word that names no "
        "device. The GPUs after it are hidden. If it is the first word, all GPUs are.",
    .fix =
        "Correct the mask. HIP's mask numbers the GPUs that ROCR_VISIBLE_DEVICES leaves, not all "
        "of them.",
    .find = find,
};

}  // namespace headroom::findings

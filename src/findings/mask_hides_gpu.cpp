// SPDX-License-Identifier: Apache-2.0
// mask-hides-gpu: a visible-devices variable keeps a usable GPU from what starts here. Often that
// is intended, so it is a warning only if no usable GPU is left.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  if (facts.masks.empty()) return {};
  std::vector<std::string> hidden;
  const auto gpus = job_gpus(facts);
  for (const facts::Gpu* gpu : gpus) {
    if (!gpu->connection.hip_index) hidden.push_back(title_of(*gpu) + " at " + gpu->pci);
  }
  if (hidden.empty()) return {};
  Finding finding;
  finding.id = "mask-hides-gpu";
  const bool all = hidden.size() == gpus.size();
  finding.severity = all ? Severity::warning : Severity::info;
  finding.title = (all ? "a mask hides every usable GPU: " : "a mask hides ") + join(hidden, ", ");
  std::vector<std::string> names;
  for (const facts::Mask& mask : facts.masks) {
    names.push_back(mask.variable);
    finding.evidence.push_back({mask.source.path, mask.source.line, mask.source.text,
                                "it decides which GPUs programs see"});
  }
  finding.fix = {sentence("Unset " + join(names, " ") + " to see all GPUs.")};
  finding.next = NextCommand::check("--verbose");
  return {finding};
}

}  // namespace

constinit const Rule mask_hides_gpu_rule = {
    .id = "mask-hides-gpu",
    .meaning =
        "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES hides a usable GPU.",
    .why = "Programs number only the GPUs that are left, from 0, or find none at all.",
    .fix = "Unset the variable, or name the GPU in it.",
    .find = find,
};

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// gfx-target-missing: the installed torch ships no code for this GPU's target, nor for a generic
// one that contains it. Targets that ROCm dropped are left to gfx-target-dropped.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

bool carries_override(const Subject& subject, const std::string& value) {
  const auto target = knowledge::target_of_override(value);
  return target && facts::carries(*subject.facts.python.torch.targets, *target);
}

// Whether an override is already set for everything on this machine, and the wheel has code for the
// target that it names.
bool overridden(const Subject& subject) {
  for (const auto* setting : subject.facts.environment.settings_of("HSA_OVERRIDE_GFX_VERSION")) {
    if (holds_for_all(*setting) && carries_override(subject, setting->value)) return true;
  }
  return false;
}

Finding make(const Subject& subject, const facts::Gpu& gpu) {
  const facts::PythonStack& python = subject.facts.python;
  Finding finding;
  finding.id = "gfx-target-missing";
  finding.severity = Severity::error;
  finding.gpu = gpu.pci;
  finding.title =
      fmt::format("the installed {} has no code for {}", torch_name(python), title_of(gpu));
  finding.reasons = {
      "Its libraries contain compiled code for some targets only. On any other target the first "
      "kernel fails with \"invalid device function\", or rocBLAS ends the program because it finds "
      "no TensileLibrary for the GPU."};
  finding.evidence = {
      show(gpu.gfx, "the target is " + *gpu.gfx),
      show(python.torch.targets, "it has code for " + join(*python.torch.targets, ", ")),
      show(python.torch.version, "the installed torch")};
  finding.fix = steps_to_install_torch(subject, gpu);
  const auto* target = subject.tables.target(*gpu.gfx);
  if (target != nullptr) {
    for (const auto& [value, judged] : target->overrides) {
      if (judged.risk == knowledge::Risk::dangerous || !carries_override(subject, value)) continue;
      finding.fix.push_back(
          sentence_with(fmt::format("Or keep the wheel and run the code of a closely related "
                                    "target (risk: {})",
                                    to_string(judged.risk)),
                        "export HSA_OVERRIDE_GFX_VERSION=" + value));
    }
  }
  finding.next = NextCommand::stack();
  finding.claim = Claim{Verdict::broken, python.named ? 0.9 : 0.8, {}};
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  if (subject.facts.python.torch_folder.empty()) return findings;
  for (const facts::Gpu* gpu : job_gpus(subject.facts)) {
    const auto carried = torch_carries(subject.facts, *gpu);
    const bool dropped = gpu->support && *gpu->support == knowledge::Support::dropped;
    if (!carried || *carried || dropped || overridden(subject)) continue;
    findings.push_back(make(subject, *gpu));
  }
  return findings;
}

}  // namespace

constinit const Rule gfx_target_missing_rule = {
    .id = "gfx-target-missing",
    .meaning = "The installed PyTorch was never compiled for this GPU's target.",
    .why =
        "Importing it and listing the GPU work. The first kernel fails. headroom reads the targets "
        "from the names of the code objects in the package.",
    .fix =
        "Install a build that includes the target. If there is none, the code of a closely related "
        "target may run with HSA_OVERRIDE_GFX_VERSION.",
    .find = find,
};

}  // namespace headroom::findings

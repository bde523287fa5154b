// SPDX-License-Identifier: Apache-2.0
// gfx-override-wrong: HSA_OVERRIDE_GFX_VERSION is set, for every login, for one service or in a
// running job, and names a target whose code this GPU cannot run safely. Harmless overrides are
// only mentioned, except on a GPU that ROCm never supported: there none is a way to run it.
#include <fmt/format.h>

#include "findings/knob_findings.h"
#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

using facts::Scope;

std::string how_to_drop(const facts::Setting& setting) {
  switch (setting.scope) {
    case Scope::shell:
      return "Unset HSA_OVERRIDE_GFX_VERSION, and remove it from the shell's startup files.";
    case Scope::process:
      return fmt::format("Restart process {} without HSA_OVERRIDE_GFX_VERSION.", setting.pid);
    case Scope::unit:
    case Scope::quadlet:
      return fmt::format(
          "Remove HSA_OVERRIDE_GFX_VERSION from {}. Then run systemctl daemon-reload and restart "
          "the service.",
          setting.source.path);
    default:
      return fmt::format("Remove HSA_OVERRIDE_GFX_VERSION from {}, and log in again.",
                         setting.source.path);
  }
}

Finding make(const facts::Gpu& gpu, const facts::Setting& setting,
             const knowledge::Override& judged) {
  Finding finding;
  finding.id = "gfx-override-wrong";
  finding.gpu = gpu.pci;
  finding.evidence = {
      {setting.source.path, setting.source.line, setting.source.text, "set " + holds_for(setting)},
      show(gpu.gfx, "the GPU's own target is " + *gpu.gfx)};
  finding.next = NextCommand::fix("gfx-override-wrong");
  finding.reasons = {fmt::format("On {}: {}.", *gpu.gfx, judged.why)};
  if (judged.risk == knowledge::Risk::dangerous) {
    finding.severity = Severity::error;
    finding.title = fmt::format("HSA_OVERRIDE_GFX_VERSION={} makes {} run code of another chip",
                                setting.value, title_of(gpu));
    finding.reasons.emplace_back(
        "The result is memory access faults, hangs and GPU resets that look like broken hardware.");
    finding.claim = Claim{Verdict::broken, holds_for_all(setting) ? 0.85 : 0.7, {}};
  } else if (gpu.support && *gpu.support == knowledge::Support::unsupported) {
    // As the audit of settings has it: what works for some is no way to run this GPU.
    finding.severity = Severity::warning;
    finding.title =
        fmt::format("HSA_OVERRIDE_GFX_VERSION={} is set for {}, which ROCm never supported",
                    setting.value, title_of(gpu));
    finding.reasons.emplace_back(
        "Programs start with it and crash when they load a model. Nobody tests it.");
  } else {
    finding.id = "gfx-override";
    finding.severity = Severity::info;
    finding.title =
        fmt::format("HSA_OVERRIDE_GFX_VERSION={} is set; {} on {}", setting.value,
                    judged.risk == knowledge::Risk::low ? "it usually works" : "it works for some",
                    title_of(gpu));
    if (gpu.support && *gpu.support != knowledge::Support::official) return finding;
  }
  finding.fix = {sentence(how_to_drop(setting))};
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  std::vector<Finding> findings;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    const auto* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
    if (target == nullptr) continue;
    for (const auto* setting : subject.facts.environment.settings_of("HSA_OVERRIDE_GFX_VERSION")) {
      const auto judged = knowledge::judge_override(*target, setting->value);
      if (!judged) continue;
      findings.push_back(make(gpu, *setting, *judged));
    }
  }
  return findings;
}

}  // namespace

constinit const Rule gfx_override_rule = {
    .id = "gfx-override-wrong",
    .meaning = "HSA_OVERRIDE_GFX_VERSION makes ROCm treat the GPU as another target.",
    .why =
        "Where the two differ in instructions or registers, kernels fault or hang as if the "
        "hardware were broken. Old settings stay in profiles and units long after wheels support "
        "the card itself.",
    .fix =
        "Remove it where it is set. A stack that includes the card's own target needs no override.",
    .find = find,
};

}  // namespace headroom::findings

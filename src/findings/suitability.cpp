// SPDX-License-Identifier: Apache-2.0
#include "findings/suitability.h"

#include <fmt/format.h>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/advisories.h"
#include "findings/memory_use.h"
#include "findings/stack_advice.h"

namespace headroom::findings {
namespace {

using knowledge::Effect;
using knowledge::Support;
using knowledge::Target;

std::optional<OverrideAdvice> best_override(const Target& target) {
  std::optional<OverrideAdvice> best;
  for (const auto& [value, judged] : target.overrides) {
    if (judged.risk == knowledge::Risk::dangerous) continue;
    if (!best || judged.risk < best->risk) best = OverrideAdvice{value, judged.risk, judged.why};
  }
  return best;
}

std::string official_range(const Target& target, const std::string& current) {
  const auto about = [](bool is) { return is ? "about " : ""; };
  return fmt::format("{}{} to {}{}", about(target.about_first), *target.rocm_first,
                     about(target.about_last), target.rocm_last.value_or(current));
}

// Finds GPUs of this machine that are more suitable.
std::vector<const facts::Gpu*> find_others(const facts::Facts& facts, const facts::Gpu& gpu) {
  std::vector<const facts::Gpu*> others;
  for (const facts::Gpu& other : facts.gpus) {
    const bool usable = other.support && *other.support != Support::unsupported && other.kfd_id;
    const bool same = other.pci == gpu.pci || other.gfx.optional() == gpu.gfx.optional();
    if (usable && !same) others.push_back(&other);
  }
  return others;
}

void name_ways_without_rocm(const facts::MachineFacts& machine, Suitability& suitability) {
  suitability.instead.push_back(
      sentence("the CPU: the service's CPU image or CPU device (PyTorch: the +cpu wheel), with one "
               "thread per core"));
  suitability.instead.push_back(sentence_with(
      "Vulkan, which needs no ROCm, where the program has it: llama.cpp and whisper.cpp built with "
      "-DGGML_VULKAN=ON, or a build of ncnn",
      step_to_vulkan(machine).text));
}

void name_alternatives(const Subject& subject, const facts::Gpu& gpu, Suitability& s) {
  const auto others = find_others(subject.facts, gpu);
  for (const facts::Gpu* other : others) {
    s.instead.push_back(
        sentence(fmt::format("{} of this machine ({})", title_of(*other), other->pci)));
  }
  name_ways_without_rocm(subject.facts.machine, s);
  if (s.route != StackRoute::none) return;
  s.remark +=
      fmt::format("Use {} instead.", others.empty() ? "the CPU or Vulkan" : others.front()->name);
}

void assess_official(const Subject& subject, const Target& target, Suitability& s) {
  s.level = Level::stable;
  s.route = StackRoute::official;
  const bool in_torch = target.torch == knowledge::TorchWheels::current;
  s.summary = in_torch ? "Supported by AMD; PyTorch's wheels include it"
                       : "Supported by AMD; AMD's wheels include it, PyTorch's own do not";
  s.reasons.push_back(fmt::format("ROCm {} lists {} ({}).",
                                  official_range(target, subject.tables.current_rocm), target.gfx,
                                  target.chip));
  s.install = wheels_for(subject.tables, target);
}

void assess_community(const Subject& subject, const Target& target, Suitability& s) {
  s.level = Level::attempt;
  s.route = StackRoute::community;
  s.summary = fmt::format(
      "Worth a try: AMD's wheels (TheRock) include {} and are tested on it; PyTorch's own do not "
      "include it",
      target.gfx);
  s.reasons.push_back(fmt::format(
      "No ROCm release lists {} ({}); AMD's TheRock builds ROCm and PyTorch for it and tests them.",
      target.gfx, target.chip));
  s.install = wheels_for(subject.tables, target);
}

void assess_override(const Subject& subject, const Target& target, Suitability& s) {
  s.level = Level::attempt;
  s.route = StackRoute::override;
  s.summary =
      fmt::format("Worth a try: with HSA_OVERRIDE_GFX_VERSION={} it runs a near target's code",
                  s.override->value);
  s.reasons.push_back(fmt::format("No build includes {} ({}) itself.", target.gfx, target.chip));
  s.install = wheels_for_override(subject.tables, s.override->value);
  s.install.push_back(command("export HSA_OVERRIDE_GFX_VERSION=" + s.override->value));
  s.origin = target.overrides.at(s.override->value).origin;
}

void assess_dropped(const Subject& subject, const Target& target, Suitability& s) {
  s.route = StackRoute::old_stack;
  s.level = Level::attempt;
  s.reasons.push_back(fmt::format("ROCm {} listed {} ({}); later releases do not.",
                                  official_range(target, subject.tables.current_rocm), target.gfx,
                                  target.chip));
  const auto* stack = subject.tables.stack(target.gfx);
  if (stack == nullptr) {
    s.summary = "Worth a try with an older ROCm, if you can find one";
    return;
  }
  const bool tried = stack->origin.certainty <= knowledge::Certainty::measured;
  if (tried) s.level = Level::stable;
  s.summary = fmt::format("{}: {} includes {}; pin that version",
                          tried ? "Works with an older stack" : "Worth a try with an older stack",
                          stack->torch, target.gfx);
  s.reasons.push_back(fmt::format("{}.", stack->evidence));
  s.install = older_wheels(subject.tables, *stack);
  s.origin = stack->origin;
}

void assess_unsupported(const Subject& subject, const facts::Gpu& gpu, const Target* target,
                        Suitability& s) {
  s.level = Level::no;
  s.route = StackRoute::none;
  if (target == nullptr) {
    s.summary = "Not suitable: older than AMD's compute driver";
    s.reasons.emplace_back(
        "The radeon driver drives it. The chip is older than AMD's compute driver, and ROCm never "
        "ran on it.");
    s.origin = {knowledge::Certainty::read, "Linux: drivers/gpu/drm/radeon"};
    return;
  }
  s.summary = fmt::format(
      "Not suitable: no ROCm release, no TheRock build and no PyTorch wheel includes {}",
      target->gfx);
  s.reasons.push_back(
      fmt::format("No ROCm release up to {} lists {} ({}), TheRock does not build for it, and no "
                  "PyTorch wheel includes it.",
                  subject.tables.current_rocm, target->gfx, target->chip));
  if (gpu.integrated && *gpu.integrated) {
    s.reasons.emplace_back(
        "The reason is not that it is integrated and shares the system's memory: other integrated "
        "GPUs are officially supported.");
    s.reasons.emplace_back(
        "Device nodes and a line in rocminfo do not mean that it is supported. The kernel driver "
        "registers every GPU. Services start, then die when the first model loads.");
  }
  if (!s.override) return;
  s.reasons.push_back(fmt::format(
      "Some people report programs running with HSA_OVERRIDE_GFX_VERSION={} ({}). Nobody tests "
      "that, and any release may break it, so do not build a service on it.",
      s.override->value, s.override->why));
  s.remark = fmt::format("Some people run it with HSA_OVERRIDE_GFX_VERSION={}; no one tests that. ",
                         s.override->value);
}

// Returns the command of the deciding test. If only a wheel with this target can run, it prints the
// wheel's list of targets; else it computes a product whose result is known, in both precisions
// that jobs use.
Step deciding_test(const Target* target, const Suitability& s) {
  if (target == nullptr)
    return sentence("vulkaninfo --summary   # shows whether Vulkan supports it; ROCm never will");
  if (s.route == StackRoute::none && !s.override) {
    return command(fmt::format(
        "python3 -c \"import torch; print(torch.cuda.get_arch_list())\"   # only a wheel that "
        "names "
        "{} can run on it",
        target->gfx));
  }
  std::string prefix, wheel;
  if (s.route == StackRoute::override || s.route == StackRoute::none) {
    prefix = fmt::format("HSA_OVERRIDE_GFX_VERSION={} ", s.override->value);
    wheel = ", with a wheel that includes " +
            knowledge::target_of_override(s.override->value).value_or("its code");
  }
  return command(prefix +
                 "python3 -c \"import torch; a=torch.randn(2048,2048); g=a.cuda(); "
                 "print(torch.allclose((g@g).cpu(), a@a, atol=0.01), "
                 "(g.half()@g.half()).isfinite().all().item())\"   # True True" +
                 wheel + ", and again after an hour of the real job");
}

const char* trouble(const knowledge::Advisory& advisory) {
  if (advisory.about == "firmware") return "its firmware is known to be bad";
  if (advisory.about == "rocm") return "not with the ROCm that is installed";
  return "this kernel lacks changes that it needs";
}

// Applies a row of the table that matches here: if it is certain and breaks jobs, it lowers the
// level.
void apply_advisory(const AdvisoryMatch& match, Suitability& s) {
  const knowledge::Advisory& advisory = *match.advisory;
  if (s.level == Level::no && advisory.effect == Effect::note) return;  // It does not matter here.
  if (!match.certain) {
    s.reasons.push_back("headroom cannot tell whether this is the case here: " + advisory.happens);
  } else {
    s.reasons.push_back(advisory.happens);
  }
  s.reasons.insert(s.reasons.end(), match.reasons.begin(), match.reasons.end());
  if (advisory.effect == Effect::note || !match.certain) return;
  s.evidence.insert(s.evidence.end(), match.evidence.begin(), match.evidence.end());
  if (s.level != Level::stable) return;
  s.level = Level::attempt;
  s.summary = fmt::format(
      "Worth a try: {}, but {}",
      s.route == StackRoute::official ? "supported by AMD" : "an older stack includes it",
      trouble(advisory));
  s.remark = advisory.happens;
  const std::vector<Step> to_do = sentences(advisory.to_do);
  s.install.insert(s.install.begin(), to_do.begin(), to_do.end());
  s.origin = advisory.origin;
}

void apply_overrides_in_force(const facts::Environment& environment, const Target& target,
                              Suitability& s) {
  for (const auto* set : environment.settings_of("HSA_OVERRIDE_GFX_VERSION")) {
    const facts::Setting& setting = *set;
    const auto judged = knowledge::judge_override(target, setting.value);
    const bool dangerous = judged && judged->risk == knowledge::Risk::dangerous;
    if (!dangerous || !holds_for_all(setting)) continue;
    s.reasons.push_back(
        fmt::format("HSA_OVERRIDE_GFX_VERSION={} is set here, and it is dangerous on {}: {}.",
                    setting.value, target.gfx, judged->why));
    s.evidence.push_back(
        {setting.source.path, setting.source.line, setting.source.text, "an override in force"});
    s.install.insert(
        s.install.begin(),
        sentence(fmt::format("Remove HSA_OVERRIDE_GFX_VERSION from {}", setting.source.path)));
    if (s.level != Level::stable) continue;
    s.level = Level::attempt;
    s.summary = "Suitable once a dangerous override is removed";
  }
}

// Applies what the installed PyTorch has code for, as read from its files.
void apply_installed(const facts::Facts& facts, const Target& target, Suitability& s) {
  const facts::Torch& torch = facts.python.torch;
  if (!torch.targets || !torch.version || !torch.kind || *torch.kind != facts::TorchKind::rocm) {
    return;
  }
  const bool carried = facts::carries(*torch.targets, target.gfx);
  s.reasons.push_back(fmt::format("The installed PyTorch {} contains {} for {}.", *torch.version,
                                  carried ? "code" : "no code", target.gfx));
  s.evidence.push_back(
      show(torch.targets, "targets in its libraries: " + join(*torch.targets, ", ")));
  if (!carried || s.route != StackRoute::none) return;
  s.level = Level::attempt;
  s.summary = "Worth a try: the installed PyTorch was built for it; no other build includes it";
}

void apply_kfd(const facts::Facts& facts, const facts::Gpu& gpu, Suitability& s) {
  const bool kfd_there = facts.kfd_present && *facts.kfd_present;
  if (!kfd_there || !lacks_compute_node(facts, gpu) || s.level == Level::no) return;
  s.level = Level::no;
  s.summary = "Not usable as it is: the compute driver skipped it, so ROCm does not see it";
  s.remark = "";
  s.reasons.emplace_back("The compute driver (KFD) has no node for it.");
  s.evidence.push_back(show(gpu.kfd_id, "no compute node for this GPU"));
  s.decides = command("sudo dmesg | grep -iE 'kfd|atomics'   # shows why it was skipped");
}

void assess_target(const Subject& subject, const Target& target, Suitability& s) {
  s.origin = target.origin;
  s.override = best_override(target);
  switch (knowledge::support_of(target)) {
    case Support::official:
      return assess_official(subject, target, s);
    case Support::community:
      return assess_community(subject, target, s);
    case Support::override:
      return assess_override(subject, target, s);
    case Support::dropped:
      return assess_dropped(subject, target, s);
    case Support::unsupported:
      return;
  }
}

}  // namespace

std::optional<Suitability> assess(const Subject& subject, const facts::Gpu& gpu) {
  if (!gpu.support) return std::nullopt;
  const Target* target = gpu.gfx ? subject.tables.target(*gpu.gfx) : nullptr;
  Suitability s;
  if (target != nullptr) assess_target(subject, *target, s);
  if (*gpu.support == Support::unsupported) assess_unsupported(subject, gpu, target, s);
  s.evidence.insert(s.evidence.begin(),
                    show(gpu.support, gpu.gfx ? "the target is " + *gpu.gfx : "driven by radeon"));
  if (target != nullptr) {
    explain_libraries(*target, s.reasons);
    if (!target->note.empty()) s.reasons.push_back(target->note);
    s.decides = deciding_test(target, s);
    for (const AdvisoryMatch& match : match_advisories(subject, gpu)) apply_advisory(match, s);
    apply_installed(subject.facts, *target, s);
    apply_overrides_in_force(subject.facts.environment, *target, s);
    apply_kfd(subject.facts, gpu, s);
  } else {
    s.decides = deciding_test(target, s);
  }
  if (s.level != Level::stable) name_alternatives(subject, gpu, s);
  s.sources = knowledge::full_sources(subject.tables, s.origin);
  return s;
}

bool lacks_compute_node(const facts::Facts& facts, const facts::Gpu& gpu) {
  const bool without = !gpu.kfd_id && gpu.kfd_id.missing().why == facts::Why::not_present;
  const bool driven = gpu.vram_total || (gpu.driver && *gpu.driver == "amdgpu");
  return without && driven && facts.kfd_nodes_withheld == 0 && facts.kfd_nodes_unread == 0;
}

std::string_view to_string(Level level) {
  switch (level) {
    case Level::stable:
      return "stable";
    case Level::attempt:
      return "try";
    case Level::no:
      break;
  }
  return "no";
}

std::string_view to_string(StackRoute route) {
  switch (route) {
    case StackRoute::official:
      return "official";
    case StackRoute::community:
      return "community";
    case StackRoute::override:
      return "override";
    case StackRoute::old_stack:
      return "old-stack";
    case StackRoute::none:
      break;
  }
  return "none";
}

}  // namespace headroom::findings

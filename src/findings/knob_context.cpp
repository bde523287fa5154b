// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"

namespace headroom::findings {
namespace {

using facts::Gpu;
using knowledge::Knob;

std::string_view shown(std::string_view component) {
  if (component == "rocm") return "ROCm";
  if (component == "torch") return "PyTorch";
  return component == "kernel" ? "Linux" : component;
}

// Lists versions as "PyTorch 2.12 and ROCm 7.0".
std::string list_versions(const std::map<std::string, std::string>& versions) {
  std::vector<std::string> parts;
  for (const auto& [component, version] : versions)
    parts.push_back(fmt::format("{} {}", shown(component), version));
  return join(parts, " and ");
}

std::string in_words(const std::vector<std::string>& matters) {
  std::vector<std::string> parts;
  for (const std::string& word : matters) {
    if (word == "integrated") {
      parts.emplace_back("an integrated GPU");
    } else if (word == "discrete") {
      parts.emplace_back("a discrete card");
    } else if (word == "several-gpus") {
      parts.emplace_back("more than one GPU");
    } else {
      parts.push_back(word);
    }
  }
  return join(parts, ", ");
}

std::string no_foundation(const std::string& gpu, const std::string& why) {
  return fmt::format(
      "ROCm never supported {}. Some people report programs running with this override ({}), but "
      "nobody tests that. Jobs and services crash when they load a model",
      gpu, why);
}

// Which wheels hold the target's own code, so that nothing has to be overridden.
std::string wheels_without_override(const knowledge::Target& target) {
  if (target.torch == knowledge::TorchWheels::current) {
    return fmt::format("PyTorch's wheels include code for {} and need no override", target.gfx);
  }
  if (target.therock != knowledge::TheRock::none) {
    return fmt::format(
        "keep it only with PyTorch's own wheels: AMD's wheels contain code for {} itself, so "
        "remove "
        "it with them",
        target.gfx);
  }
  return fmt::format("no wheel includes code for {} itself", target.gfx);
}

}  // namespace

KnobContext::KnobContext(const facts::Facts& facts, const knowledge::GpuTables& tables)
    : facts_(facts), tables_(tables) {
  const facts::Torch& torch = facts.python.torch;
  if (facts.machine.rocm) versions_["rocm"] = *facts.machine.rocm;
  if (torch.version) versions_["torch"] = *torch.version;
  // The ROCm for which PyTorch was built decides its options, whatever else is installed.
  if (torch.rocm) versions_["rocm"] = *torch.rocm;
}

std::optional<std::string> KnobContext::module_in_use(const Knob& knob) const {
  const std::string module = knob.name.substr(0, knob.name.find('.'));
  const std::string& in_use = facts_.machine.ttm_module;
  const bool is_ttm = module == "ttm" || module == "amdttm";
  if (!is_ttm || !facts_.machine.pages_limit || module == in_use) return std::nullopt;
  return in_use;
}

std::string KnobContext::not_read_here(const Knob& knob) const {
  const auto& kind = facts_.python.torch.kind;
  if (!knob.build.empty() && kind && to_string(*kind) != knob.build) {
    return fmt::format("the PyTorch here is a build for {}, and only builds for {} read it",
                       to_string(*kind), knob.build);
  }
  for (const auto& [component, since] : knob.since) {
    const auto here = versions_.find(component);
    if (here == versions_.end()) continue;
    if (knowledge::compare_versions(here->second, since) == -1) {
      return fmt::format("it exists from {} on; this machine has {} {}", list_versions(knob.since),
                         shown(component), here->second);
    }
  }
  if (std::string why = absent_from_older_stack(knob); !why.empty()) return why;
  for (const auto& [component, until] : knob.until) {
    const auto here = versions_.find(component);
    if (here == versions_.end()) continue;
    const auto order = knowledge::compare_versions(here->second, until);
    if (order && *order >= 0) {
      return fmt::format("{} {} no longer reads it; this machine has {}", shown(component), until,
                         here->second);
    }
  }
  return "";
}

std::string KnobContext::absent_from_older_stack(const Knob& knob) const {
  const auto since = knob.since.find("rocm");
  if (since == knob.since.end() || versions_.contains("rocm") || facts_.gpus.empty()) return "";
  const knowledge::Stack* stack = nullptr;
  for (const Gpu& gpu : facts_.gpus) {
    stack = gpu.gfx ? tables_.stack(*gpu.gfx) : nullptr;
    if (stack == nullptr || !stack->index.starts_with("rocm")) return "";
    const std::string rocm = stack->index.substr(std::string_view("rocm").size());
    if (knowledge::compare_versions(rocm, since->second) != -1) return "";
  }
  const Gpu& gpu = facts_.gpus.front();
  return fmt::format("it exists from {} on; the stack for {} ({}) is older: {}",
                     list_versions(knob.since), gpu.name, *gpu.gfx, stack->torch);
}

std::string KnobContext::without_rocm(const Knob& knob) const {
  static const std::set<std::string_view> of_rocm = {"hip", "rocr", "miopen", "rccl", "torch"};
  if (!of_rocm.contains(knob.component) || facts_.gpus.empty()) return "";
  if (!facts_.other_gpus.empty()) return "";  // PyTorch for CUDA reads some of them.
  for (const Gpu& gpu : facts_.gpus) {
    if (!gpu.support || *gpu.support != knowledge::Support::unsupported) return "";
  }
  return fmt::format(
      "only programs that compute with ROCm read it, and no ROCm supports {}; on the CPU and with "
      "Vulkan it does nothing",
      facts_.gpus.front().name);
}

std::string KnobContext::means_nothing_here(const Knob& knob) const {
  if (knob.matters.empty() || facts_.gpus.empty()) return "";
  std::vector<std::string> here;
  for (const Gpu& gpu : facts_.gpus) {
    for (const std::string& word : knob.matters) {
      if (word == "several-gpus") {
        if (facts_.gpus.size() > 1) return "";
      } else if (word == "integrated" || word == "discrete") {
        // If the kind of GPU is not known, the knob may matter.
        if (!gpu.integrated || *gpu.integrated == (word == "integrated")) return "";
      } else if (!gpu.gfx || *gpu.gfx == word) {
        return "";
      }
    }
    const std::string name = gpu.name + (gpu.gfx ? " (" + *gpu.gfx + ")" : "");
    if (std::find(here.begin(), here.end(), name) == here.end()) here.push_back(name);
  }
  return fmt::format("it matters only with {}; this machine has {}", in_words(knob.matters),
                     join(here, ", "));
}

std::string KnobContext::deprecated_here(const Knob& knob) const {
  if (knob.deprecated_since.empty()) return "the driver announces that it will be removed";
  for (const auto& [component, since] : knob.deprecated_since) {
    const auto here = versions_.find(component);
    if (here == versions_.end()) continue;
    const auto order = knowledge::compare_versions(here->second, since);
    if (order && *order >= 0) {
      return fmt::format("deprecated since {} {}; this machine has {}", shown(component), since,
                         here->second);
    }
  }
  return "";
}

std::string KnobContext::unsure(const Knob& knob) const {
  if (needed_versions(knob).empty()) return "";
  return fmt::format("it exists from {} on, and headroom does not know what is installed",
                     list_versions(knob.since));
}

std::string KnobContext::needed_versions(const Knob& knob) const {
  const bool all_known = std::all_of(knob.since.begin(), knob.since.end(), [&](const auto& since) {
    return versions_.contains(since.first);
  });
  return all_known ? "" : list_versions(knob.since) + " or later";
}

std::optional<KnobContext::Override> KnobContext::judge_override(const std::string& value) const {
  std::optional<Override> answer;
  for (const Gpu& gpu : facts_.gpus) {
    const auto* target = gpu.gfx ? tables_.target(*gpu.gfx) : nullptr;
    if (target == nullptr) continue;
    const auto judged = knowledge::judge_override(*target, value);
    const std::string name = fmt::format("{} ({})", gpu.name, *gpu.gfx);
    if (!judged) {
      if (!answer) answer = {false, true, fmt::format("it names the target that {} has", name), ""};
    } else if (judged->risk == knowledge::Risk::dangerous) {
      return Override{true, false,
                      fmt::format("{} cannot run that target's code ({}): memory faults and hangs",
                                  name, judged->why),
                      ""};
    } else if (gpu.support && *gpu.support == knowledge::Support::unsupported) {
      return Override{true, false, no_foundation(name, judged->why),
                      "run on the CPU or with Vulkan (headroom check says how)"};
    } else {
      answer = {false, false,
                fmt::format("it {} on {}; {}",
                            judged->risk == knowledge::Risk::low ? "usually works"
                                                                 : "works for some people",
                            name, wheels_without_override(*target)),
                ""};
    }
  }
  return answer;
}

// ROCm counts only GPUs that the compute driver offers.
std::optional<std::size_t> KnobContext::gpu_count() const {
  const auto count = std::count_if(facts_.gpus.begin(), facts_.gpus.end(),
                                   [](const Gpu& gpu) { return gpu.kfd_id.known(); });
  if (count == 0) return std::nullopt;
  return static_cast<std::size_t>(count);
}

}  // namespace headroom::findings

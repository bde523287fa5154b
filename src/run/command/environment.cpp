// SPDX-License-Identifier: Apache-2.0
#include "run/command/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/knob_audit.h"
#include "run/command/variables.h"

namespace headroom::run {
namespace {

using findings::Judgement;
using findings::KnobVerdict;

constexpr const char* override_name = "HSA_OVERRIDE_GFX_VERSION";
constexpr const char* hip_mask = "HIP_VISIBLE_DEVICES";
constexpr const char* cuda_mask = "CUDA_VISIBLE_DEVICES";
constexpr const char* rocr_mask = "ROCR_VISIBLE_DEVICES";

bool has_any(const std::vector<std::string>& variables, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&variables](const char* name) {
    return value_of(variables, name).has_value();
  });
}

std::vector<facts::Setting> to_settings(const std::vector<std::string>& variables) {
  std::vector<facts::Setting> settings;
  for (const std::string& one : variables) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    facts::Setting setting;
    setting.name = one.substr(0, equals);
    setting.value = one.substr(equals + 1);
    setting.scope = facts::Scope::shell;
    setting.source = {"environment", 0, one};
    settings.push_back(std::move(setting));
  }
  return settings;
}

// An allocator's option that a stack without it refuses or that loses data beside another one:
// expandable_segments on a PyTorch or a ROCm that lacks it, or next to max_split_size_mb.
bool is_bad_option(const Judgement& judged) {
  if (!judged.is_option()) return false;
  if (judged.verdict == KnobVerdict::dangerous || judged.verdict == KnobVerdict::unknown)
    return true;
  const bool is_expandable = judged.name.ends_with(":expandable_segments");
  return is_expandable &&
         (judged.verdict == KnobVerdict::no_effect ||
          judged.verdict == KnobVerdict::contradictory) &&
         to_lower(judged.value) == "true";
}

std::string because(const Judgement& judged) {
  return judged.why.empty() ? judged.does : judged.why;
}

// "a:1,b:2" without the option `name`; brackets hold commas that separate nothing.
std::string without_option(const std::string& value, const std::string& name) {
  std::string kept;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const char c = i < value.size() ? value[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || (depth > 0 && i < value.size())) continue;
    const std::string option(trim(std::string_view(value).substr(begin, i - begin)));
    begin = i + 1;
    if (option.empty() || trim(option.substr(0, option.find(':'))) == name) continue;
    kept += (kept.empty() ? "" : ",") + option;
  }
  return kept;
}

void drop_option(const Judgement& judged, CommandEnvironment& result) {
  const std::size_t colon = judged.name.find(':');
  const std::string variable = judged.name.substr(0, colon);
  const std::string option = judged.name.substr(colon + 1);
  const auto before = value_of(result.variables, variable);
  if (!before) return;
  const std::string kept = without_option(*before, option);
  if (kept.empty()) {
    take_out(result.variables, variable);
  } else {
    set(result.variables, variable, kept);
  }
  result.said.push_back(fmt::format("{} without {}: {}", variable, option, because(judged)));
}

void take_out_dangers(const facts::Facts& facts, const knowledge::GpuTables& tables,
                      CommandEnvironment& result) {
  for (const Judgement& judged :
       findings::audit_knobs(to_settings(result.variables), facts, tables)) {
    if (!judged.ours) continue;
    if (is_bad_option(judged)) {
      drop_option(judged, result);
    } else if (!judged.is_option() && judged.verdict == KnobVerdict::dangerous) {
      take_out(result.variables, judged.name);
      result.said.push_back(
          fmt::format("{}={} is removed: {}", judged.name, judged.value, because(judged)));
    }
  }
}

// A GPU whose own code no build has, and for which a near target's is known to be safe.
void set_override(const KnownMachine& machine, CommandEnvironment& result) {
  if (has_any(result.variables, {override_name})) return;
  const auto gpus = findings::job_gpus(*machine.facts);
  if (gpus.empty()) return;
  std::optional<std::string> value;
  for (const facts::Gpu* gpu : gpus) {
    const auto place = static_cast<std::size_t>(gpu - machine.facts->gpus.data());
    if (place >= machine.diagnosis->suitability.size()) return;
    const auto& suited = machine.diagnosis->suitability[place];
    const bool wants = suited && suited->route == findings::StackRoute::override &&
                       suited->override && suited->override->risk == knowledge::Risk::low;
    // Where torch is not found nobody knows what code it has.
    const auto carries = findings::torch_carries(*machine.facts, *gpu);
    if (!wants || !carries || *carries) return;
    if (value && *value != suited->override->value) return;
    value = suited->override->value;
  }
  set(result.variables, override_name, *value);
  result.said.push_back(
      fmt::format("{}={} is set: the installed PyTorch has no code for {}, and the code of this "
                  "target runs on it",
                  override_name, *value, gpus.front()->name));
}

// The GPUs that jobs should see, by HIP's index, where an integrated one that is not officially
// supported would be seen beside them.
std::optional<std::string> wanted_mask(const KnownMachine& machine) {
  const std::vector<facts::Gpu>& gpus = machine.facts->gpus;
  const auto& suitability = machine.diagnosis->suitability;
  bool has_integrated = false;
  std::vector<std::uint64_t> wanted;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].connection.hip_index) continue;
    if (!gpus[i].integrated) return std::nullopt;
    if (!*gpus[i].integrated) {
      wanted.push_back(*gpus[i].connection.hip_index);
      continue;
    }
    const bool is_stable = i < suitability.size() && suitability[i] &&
                           suitability[i]->level == findings::Level::stable;
    if (is_stable) return std::nullopt;
    has_integrated = true;
  }
  if (!has_integrated || wanted.empty()) return std::nullopt;
  std::sort(wanted.begin(), wanted.end());
  return fmt::format("{}", fmt::join(wanted, ","));
}

void hide_integrated(const KnownMachine& machine, CommandEnvironment& result) {
  if (has_any(result.variables, {hip_mask, cuda_mask, rocr_mask, "GPU_DEVICE_ORDINAL"})) return;
  const auto mask = wanted_mask(machine);
  if (!mask) return;
  set(result.variables, hip_mask, *mask);
  result.said.push_back(
      fmt::format("{}={} is set: otherwise jobs might use the integrated GPU beside the card, or "
                  "fail because of it",
                  hip_mask, *mask));
}

bool is_device_word(std::string_view word) {
  if (word.starts_with("GPU-") || word.starts_with("MIG-")) return word.size() > 4;
  return parse_u64(word).has_value();
}

std::optional<std::size_t> count_devices(const KnownMachine& machine) {
  if (machine.facts == nullptr) return std::nullopt;
  std::size_t count = 0;
  for (const facts::Gpu& gpu : machine.facts->gpus) {
    if (gpu.connection.rocr_index) ++count;
  }
  if (count == 0) return std::nullopt;
  return count;
}

bool has_nvidia_alone(const KnownMachine& machine) {
  constexpr std::uint64_t nvidia = 0x10de;
  if (machine.facts == nullptr || !machine.facts->gpus.empty()) return false;
  const auto& others = machine.facts->other_gpus;
  return std::any_of(others.begin(), others.end(), [](const facts::OtherGpu& gpu) {
    return gpu.vendor && *gpu.vendor == nvidia;
  });
}

Status check_devices(const std::string& list, std::optional<std::size_t> count) {
  std::vector<std::string_view> seen;
  for (const std::string_view word : split(list, ',')) {
    // HIP takes the list up to a device that it has already.
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) {
      return Error{
          Errc::invalid,
          fmt::format("--device: expected each GPU once, found {} twice in \"{}\"", word, list),
          "name each GPU once"};
    }
    seen.push_back(word);
    if (!is_device_word(word)) {
      return Error{Errc::invalid,
                   fmt::format("--device: expected indices or ids of GPUs, found \"{}\"", list),
                   "--device 0, --device 0,1, or --device GPU-ID (headroom check lists them)"};
    }
    const auto index = parse_u64(word);
    if (index && count && *index >= *count) {
      return Error{Errc::invalid,
                   fmt::format("--device: expected indices below {}, found {}: ROCm counts {} "
                               "GPU{} here",
                               *count, *index, *count, *count == 1 ? "" : "s"),
                   "headroom check"};
    }
  }
  return Done{};
}

}  // namespace

std::vector<std::string> to_variables(const std::string& environment) {
  std::vector<std::string> variables;
  for (const std::string_view one : split(environment, '\0')) {
    if (!one.empty()) variables.emplace_back(one);
  }
  return variables;
}

CommandEnvironment clean_environment(std::vector<std::string> variables,
                                     const KnownMachine& machine,
                                     const knowledge::GpuTables& tables) {
  CommandEnvironment result{std::move(variables), {}};
  if (machine.facts == nullptr || machine.diagnosis == nullptr || machine.facts->gpus.empty())
    return result;
  take_out_dangers(*machine.facts, tables, result);
  set_override(machine, result);
  hide_integrated(machine, result);
  return result;
}

Status set_devices(const std::string& list, const KnownMachine& machine,
                   CommandEnvironment& environment) {
  HEADROOM_CHECK(check_devices(list, count_devices(machine)));
  set(environment.variables, cuda_mask, list);
  if (!has_nvidia_alone(machine)) set(environment.variables, hip_mask, list);
  return Done{};
}

}  // namespace headroom::run

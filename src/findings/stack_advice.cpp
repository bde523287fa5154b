// SPDX-License-Identifier: Apache-2.0
#include "findings/stack_advice.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::findings {

namespace {

// Of today: PyTorch's own.
std::vector<Step> torch_wheels(const std::string& pip) {
  return {command(pip + " install torch --index-url URL",
                  "(URL is the ROCm index given under \"Get started\" on pytorch.org)")};
}

// AMD's, from TheRock, with one target each.
std::vector<Step> device_wheels(const knowledge::GpuTables& tables, const knowledge::Target& target,
                                const std::string& pip) {
  return {command(
      fmt::format("{} install \"torch[device-{}]\" --index-url {}", pip, target.gfx,
                  tables.device_index),
      "(AMD's wheels; in a new environment with Python 3.11 or later, since pip keeps a torch "
      "that is there)")};
}

}  // namespace

std::vector<Step> older_wheels(const knowledge::GpuTables& tables, const knowledge::Stack& stack,
                               const std::string& pip) {
  std::vector<Step> steps = {sentence_with(
      fmt::format("In a new environment with Python {} (headroom fix stack tells how)",
                  stack.python),
      fmt::format("{} install {} --index-url {}{}", pip, stack.torch, tables.torch_index,
                  stack.index))};
  if (!stack.also.empty())
    steps.push_back(sentence("Or use another build that includes it: " + stack.also));
  return steps;
}

std::vector<Step> wheels_for(const knowledge::GpuTables& tables, const knowledge::Target& target,
                             const std::string& pip) {
  if (target.torch == knowledge::TorchWheels::current) return torch_wheels(pip);
  if (const auto* stack = tables.stack(target.gfx)) return older_wheels(tables, *stack, pip);
  if (target.therock == knowledge::TheRock::none) return {};
  return device_wheels(tables, target, pip);
}

std::vector<Step> wheels_for_override(const knowledge::GpuTables& tables,
                                      const std::string& value) {
  const auto named = knowledge::target_of_override(value);
  const auto* target = named ? tables.target(*named) : nullptr;
  return target == nullptr ? std::vector<Step>() : wheels_for(tables, *target);
}

void explain_libraries(const knowledge::Target& target, std::vector<std::string>& reasons) {
  const bool official = target.rocm_first && !target.rocm_last;
  if (target.therock == knowledge::TheRock::builds && !official) {
    reasons.push_back(fmt::format("TheRock builds for {} but does not test it.", target.gfx));
  }
  if (target.without.empty()) return;
  reasons.push_back(
      fmt::format("TheRock leaves out {} for it, so programs that need them use slower code.",
                  join(target.without, ", ")));
}

}  // namespace headroom::findings

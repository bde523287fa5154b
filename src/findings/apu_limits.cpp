// SPDX-License-Identifier: Apache-2.0
#include "findings/apu_limits.h"

#include <fmt/format.h>

#include "findings/advice.h"
#include "findings/memory_use.h"

namespace headroom::findings {

std::optional<ApuLimit> find_apu_limit(const facts::Gpu& gpu, const facts::MachineFacts& machine) {
  const facts::Rung* binding = gpu.ladder.binding();
  // More memory would not make an unsupported GPU usable.
  const bool usable = !gpu.support || *gpu.support != knowledge::Support::unsupported;
  const bool system_memory = usable && on_gtt(gpu) && gpu.integrated && *gpu.integrated;
  if (!system_memory || binding == nullptr || !machine.memory.total) return std::nullopt;
  const std::string& name = binding->name;
  const Bytes ram = *machine.memory.total;
  // The compute driver's limit changes with TTM's if it is a copy of it.
  const bool copy = name == "kfd-ttm" && gpu.ladder.ttm_at_load() != nullptr;
  const bool movable = name == "ttm" || name == "gtt" || name == "pool" || copy;
  return ApuLimit{*binding->limit, advised_gpu_limit(ram), ram, name == "gtt", movable};
}

bool is_small(const ApuLimit& limit) {
  return limit.movable && share(limit.limit, limit.advised) < worth_raising;
}

bool limit_was_set(const ApuLimit& limit, const facts::MachineFacts& machine) {
  return !is_half_of_ram(limit.limit, limit.ram) || (limit.by_gtt && machine.gttsize);
}

void show_limits(const facts::Gpu& gpu, const facts::MachineFacts& machine, Finding& finding) {
  const auto add = [&finding](const auto& fact, const std::string& what) {
    if (fact) finding.evidence.push_back(show(fact, what + to_string(*fact)));
  };
  add(machine.pages_limit, "TTM's limit, in pages of 4 KiB: ");
  add(machine.memory.total, "RAM: ");
  add(gpu.gtt_total, "GTT, the limit for graphics: ");
  add(gpu.pool, "the pool that ROCm offers to hipMalloc: ");
  if (machine.gttsize) add(machine.gttsize, "amdgpu.gttsize, in MiB: ");
  const auto add_option = [&](const std::string& module, const std::string& key) {
    const auto* option = machine.option(module, key);
    if (option == nullptr) return;
    finding.evidence.push_back({option->source.path, option->source.line, option->source.text,
                                fmt::format("sets {}.{}", module, key)});
  };
  add_option(machine.ttm_module, "pages_limit");
  add_option("amdgpu", "gttsize");
}

std::vector<Step> steps_to_raise(const ApuLimit& limit, const facts::MachineFacts& machine,
                                 bool drop_gttsize) {
  return steps_to_set(
      machine, machine.ttm_module, ttm_limit_of(limit.advised),
      drop_gttsize ? std::vector<Parameter>{{"amdgpu", "gttsize"}} : std::vector<Parameter>{});
}

}  // namespace headroom::findings

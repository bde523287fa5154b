// SPDX-License-Identifier: Apache-2.0
#include "run/command/guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/guard.h"

namespace headroom::run {
namespace {

using facts::Guard;
using facts::GuardedPool;

std::string name_of(GuardedPool pool) {
  switch (pool) {
    case GuardedPool::gtt:
      return "GTT";
    case GuardedPool::ram:
      return "RAM";
    case GuardedPool::vram:
      break;
  }
  return "VRAM";
}

std::string describe(const facts::Gpu& gpu, const std::vector<Guard>& guards) {
  std::string amounts;
  for (const Guard& guard : guards)
    amounts += fmt::format("{}{} of {}", amounts.empty() ? "" : " and ", to_string(guard.leave),
                           name_of(guard.pool));
  return fmt::format(
      "{} ({}): {} is kept free for the desktop and the system; --guard SIZE changes this, --guard "
      "off switches it off",
      gpu.name, gpu.pci, amounts);
}

// What the supervisor keeps of RAM: as much as the guards say, or was asked for.
std::optional<Bytes> system_guard(const GuardChoice& choice, const std::vector<Guard>& guards,
                                  const facts::Facts* facts) {
  std::optional<Bytes> kept;
  for (const Guard& guard : guards) {
    if (guard.pool == GuardedPool::ram) kept = std::max(kept.value_or(Bytes{}), guard.leave);
  }
  if (choice.has_allocator) return kept ? std::optional(Bytes{kept->value / 2}) : std::nullopt;
  if (kept || choice.size) return kept ? kept : choice.size;
  if (facts == nullptr || !facts->machine.memory.total) return std::nullopt;
  return facts::machine_reserve(*facts->machine.memory.total);
}

}  // namespace

CommandGuard make_guard(const GuardChoice& choice, const facts::Facts* facts,
                        const facts::Occupancy& occupancy) {
  CommandGuard made{"off", std::nullopt, {}};
  if (!choice.is_on) return made;
  std::vector<Guard> all;
  if (facts != nullptr) {
    for (const facts::Gpu& gpu : facts->gpus) {
      const auto guards = facts::make_guards(gpu, facts->machine.memory,
                                             occupancy.screens_of(gpu.pci), choice.size);
      if (guards.empty()) continue;
      made.said.push_back(describe(gpu, guards));
      all.insert(all.end(), guards.begin(), guards.end());
    }
  }
  made.system = system_guard(choice, all, facts);
  if (!all.empty()) {
    made.variable = facts::to_text(all);
  } else if (choice.size) {
    made.variable = fmt::format("{}", choice.size->value);
  }
  if (made.said.empty() && choice.size)
    made.said.push_back(fmt::format(
        "{} is kept free {}; --guard off switches this off", to_string(*choice.size),
        choice.has_allocator ? "on each GPU, as its driver counts" : "in the system's memory"));
  return made;
}

}  // namespace headroom::run

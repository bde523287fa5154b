// SPDX-License-Identifier: Apache-2.0
#include "facts/options_in_force.h"

#include "base/text.h"

namespace headroom::facts {
namespace {

std::string plain(std::string_view value) {
  std::string word = to_lower(trim(value));
  if (word == "y" || word == "1") return "1";
  if (word == "n" || word == "0") return "0";
  return word;
}

bool was_in_force(const Facts& facts, const ModuleOption& option) {
  constexpr std::uint64_t page_bytes = 4096;
  const auto pages = parse_u64(option.value);
  if (option.key != "pages_limit" || !pages) return false;
  for (const Gpu& gpu : facts.gpus) {
    const Rung* at_load = gpu.ladder.rung("kfd-ttm");
    if (at_load == nullptr || !at_load->limit) continue;
    if (at_load->limit->value / page_bytes == *pages) return true;
  }
  return false;
}

}  // namespace

bool same_value(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

std::vector<const ModuleOption*> options_not_in_force(const Facts& facts) {
  const MachineFacts& machine = facts.machine;
  std::vector<const ModuleOption*> found;
  if (facts.gpus.empty()) return found;
  for (const ModuleOption& option : machine.options) {
    const bool from_file = option.source.path != "/proc/cmdline";
    const bool counts = machine.option(option.module, option.key) == &option;
    const Text* in_force = machine.parameter(option.module + "." + option.key);
    if (!from_file || !counts || in_force == nullptr || !*in_force) continue;
    if (same_value(option.value, **in_force) || was_in_force(facts, option)) continue;
    found.push_back(&option);
  }
  return found;
}

}  // namespace headroom::facts

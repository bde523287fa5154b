// SPDX-License-Identifier: Apache-2.0
#include "facts/options_in_force.h"

#include <algorithm>

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
  const auto limit = parse_pages_limit(Text(option.value, option.source));
  if (option.key != "pages_limit" || !limit) return false;
  return std::any_of(facts.gpus.begin(), facts.gpus.end(), [&](const Gpu& gpu) {
    const Rung* at_load = gpu.ladder.ttm_at_load();
    return at_load != nullptr && may_be(*at_load, *limit);
  });
}

}  // namespace

bool same_value(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

std::optional<ModuleOption> find_in_initramfs(const MachineFacts& machine,
                                              const ModuleOption& option) {
  const InitramfsCopy* copy = machine.initramfs_copy(option.source.path);
  if (copy == nullptr) return std::nullopt;
  std::optional<ModuleOption> last;
  for (ModuleOption& set : parse_modprobe(copy->text)) {
    if (set.module == option.module && set.key == option.key) last = std::move(set);
  }
  return last;
}

bool is_in_initramfs(const MachineFacts& machine, const ModuleOption& option) {
  const auto set = find_in_initramfs(machine, option);
  return set && same_value(set->value, option.value);
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

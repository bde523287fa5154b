// SPDX-License-Identifier: Apache-2.0
#include "facts/kfd_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/gpu.h"
#include "facts/kernel_release.h"
#include "facts/machine_facts.h"

namespace headroom::facts {
namespace {

constexpr KernelVersion ttm_since{6, 5, 0};
constexpr KernelVersion ram_since{6, 7, 0};

Bytes apart(Bytes a, Bytes b) {
  return std::max(a, b) - std::min(a, b);
}

// 3/8 and 15/16 of one figure are as 2 to 5, whatever the figure; each was rounded down.
bool are_shares(Bytes system, Bytes ttm) {
  const Bytes fives = {ttm.value / kfd_limits_unit.value * 5};
  const Bytes twos = {system.value / kfd_limits_unit.value * 2};
  return apart(fives, twos).value < 5;
}

bool is_rounded_from(Bytes rounded, const Fact<Bytes>& exact) {
  return exact && *exact >= rounded && *exact < rounded + kfd_limits_unit;
}

KfdRule rule_of(const KernelVersion& version) {
  if (version < ttm_since) return KfdRule::shares_of_free_ram;
  return version < ram_since ? KfdRule::free_ram_and_ttm : KfdRule::ram_and_ttm;
}

Fact<KfdRule> cannot_tell(const Text& version, std::string why) {
  return {Missing{Why::not_present, std::move(why)}, version.source()};
}

// AMD's package is numbered as the kernel that its driver is taken from (6.12.12 of ROCm 6.4), but
// changes are in it before they are in that kernel.
Fact<KfdRule> rule_of_package(const Text& driver) {
  const auto version = driver ? parse_kernel_version(*driver) : std::nullopt;
  if (version && *version >= ram_since) return {KfdRule::ram_and_ttm, driver.source()};
  return cannot_tell(driver, "AMD's driver package may follow either formula before 6.7");
}

Fact<KfdRule> rule_of_kernel(const Text& kernel) {
  if (!kernel) return kernel.absent<KfdRule>();
  const auto release = parse_kernel_release(*kernel);
  if (!release) return {Missing{Why::not_understood, *kernel}, kernel.source()};
  const KfdRule rule = rule_of(release->version);
  const bool carries_drivers = release->distribution == "rhel" || release->distribution == "suse";
  if (rule == KfdRule::ram_and_ttm || !carries_drivers) return {rule, kernel.source()};
  return cannot_tell(kernel, "such kernels carry later drivers than their number says");
}

}  // namespace

std::optional<KfdRule> observe_kfd_rule(const Gpu& gpu, const MachineFacts& machine) {
  const KfdLimits& limits = machine.kfd_limits;
  if (!limits.system_limit || !limits.ttm_limit) return std::nullopt;
  const Bytes system = *limits.system_limit;
  const Bytes ttm = *limits.ttm_limit;
  if (are_shares(system, ttm)) return KfdRule::shares_of_free_ram;
  if (machine.memory.total) {
    const Bytes ram = *machine.memory.total;
    const Bytes slack = Bytes{ram.value / ram_tolerance_parts} + kfd_limits_unit;
    if (apart(system, kfd_system_limit(ram)) <= slack) return KfdRule::ram_and_ttm;
  }
  const bool is_copy = is_rounded_from(ttm, machine.pages_limit) || is_rounded_from(ttm, gpu.pool);
  return is_copy ? std::optional(KfdRule::free_ram_and_ttm) : std::nullopt;
}

Fact<KfdRule> find_kfd_rule(const Gpu& gpu, const MachineFacts& machine, bool pool_in_gtt) {
  const KfdLimits& limits = machine.kfd_limits;
  if (limits.rule) return {*limits.rule, Source{"predicted", 0, "as it is now"}};
  if (const auto seen = observe_kfd_rule(gpu, machine)) return {*seen, limits.ttm_limit.source()};
  if (pool_in_gtt) return {KfdRule::ram_and_ttm, gpu.pool.source()};
  const bool own_driver = machine.ttm_module == "amdttm" || machine.driver_version;
  return own_driver ? rule_of_package(machine.driver_version) : rule_of_kernel(machine.kernel);
}

Bytes kfd_system_limit(Bytes ram) {
  const Bytes most = ram - Bytes{ram.value / 64};
  return most >= 3_GiB ? most - 1536_MiB : Bytes{most.value / 2};
}

std::string explain_system_limit(Bytes ram) {
  const std::string all = to_string(ram);
  const Bytes limit = kfd_system_limit(ram);
  return limit + 1536_MiB == ram - Bytes{ram.value / 64}
             ? fmt::format("{0} - {0}/64 - 1.50 GiB = {1}", all, to_string(limit))
             : fmt::format("half of ({0} - {0}/64) = {1}", all, to_string(limit));
}

Bytes most_of_system(Bytes ram) {
  return ram - Bytes{ram.value / 16};
}

Bytes most_of_ttm(Bytes ram) {
  return {ram.value / 8 * 3};
}

}  // namespace headroom::facts

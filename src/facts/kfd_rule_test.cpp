// SPDX-License-Identifier: Apache-2.0
#include "facts/kfd_rule.h"

#include <gtest/gtest.h>

#include "facts/gpu.h"
#include "facts/machine_facts.h"

namespace headroom::facts {
namespace {

using namespace literals;

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

MachineFacts machine(const std::string& kernel, Bytes ram = 16_GiB) {
  MachineFacts facts;
  facts.kernel = known(kernel);
  facts.memory.total = known(ram);
  return facts;
}

void read_as_root(MachineFacts& facts, std::uint64_t system_mib, std::uint64_t ttm_mib) {
  facts.kfd_limits.system_limit = known(1_MiB * system_mib);
  facts.kfd_limits.ttm_limit = known(1_MiB * ttm_mib);
}

std::optional<KfdRule> rule_of(const MachineFacts& facts, bool pool_in_gtt = false) {
  return find_kfd_rule(Gpu{}, facts, pool_in_gtt).optional();
}

TEST(KfdRule, the_limit_on_system_memory_as_measured) {
  // A 15196 MiB board whose driver prints 13422 MiB.
  EXPECT_EQ(kfd_system_limit(15196_MiB).value >> 20U, 13422U);
  EXPECT_EQ(kfd_system_limit(2_GiB).value, (2_GiB - 32_MiB).value / 2);
  EXPECT_EQ(kfd_system_limit({}).value, 0U);
}

TEST(KfdRule, each_kernel_has_its_own) {
  EXPECT_EQ(rule_of(machine("6.1.0-40-amd64")), KfdRule::shares_of_free_ram);
  EXPECT_EQ(rule_of(machine("6.4.16")), KfdRule::shares_of_free_ram);
  EXPECT_EQ(rule_of(machine("6.5.0-45-generic")), KfdRule::free_ram_and_ttm);
  EXPECT_EQ(rule_of(machine("6.6.70-1-lts")), KfdRule::free_ram_and_ttm);
  EXPECT_EQ(rule_of(machine("6.7.0")), KfdRule::ram_and_ttm);
  EXPECT_EQ(rule_of(machine("6.12.48+deb13-amd64")), KfdRule::ram_and_ttm);
}

TEST(KfdRule, a_kernel_that_carries_later_drivers_does_not_tell_by_its_number) {
  EXPECT_EQ(rule_of(machine("5.14.0-570.el9.x86_64")), std::nullopt);
  EXPECT_EQ(rule_of(machine("6.12.0-55.el10.x86_64")), KfdRule::ram_and_ttm);
}

TEST(KfdRule, amds_package_is_numbered_for_itself) {
  MachineFacts facts = machine("5.14.0-570.el9.x86_64");
  facts.driver_version = known(std::string("6.12.12"));
  EXPECT_EQ(rule_of(facts), KfdRule::ram_and_ttm);
  facts.driver_version = known(std::string("6.3.6"));
  EXPECT_EQ(rule_of(facts), std::nullopt);
}

TEST(KfdRule, an_unknown_kernel_has_an_unknown_one) {
  MachineFacts facts;
  facts.kernel = {Missing{Why::not_present, ""}, Source{"/proc/sys/kernel/osrelease", 0, ""}};
  EXPECT_EQ(rule_of(facts), std::nullopt);
  EXPECT_EQ(rule_of(machine("")), std::nullopt);
}

TEST(KfdRule, a_pool_in_system_memory_shows_a_later_driver_than_the_kernels_number) {
  EXPECT_EQ(rule_of(machine("6.1.0-40-amd64"), true), KfdRule::ram_and_ttm);
}

TEST(KfdRule, the_drivers_own_figures_outweigh_every_number) {
  MachineFacts old_figures = machine("6.17.0", 10_GiB);
  read_as_root(old_figures, 9129, 3651);  // As Debian 12's 6.1 printed them.
  EXPECT_EQ(rule_of(old_figures, true), KfdRule::shares_of_free_ram);
  MachineFacts new_figures = machine("6.1.0-40-amd64");
  read_as_root(new_figures, kfd_system_limit(16_GiB).value >> 20U, 8192);
  EXPECT_EQ(rule_of(new_figures), KfdRule::ram_and_ttm);
  MachineFacts between = machine("6.1.0-40-amd64");
  read_as_root(between, 13000, 8191);
  between.pages_limit = known(8_GiB - 4096_B);
  EXPECT_EQ(rule_of(between), KfdRule::free_ram_and_ttm);
}

TEST(KfdRule, shares_are_told_from_the_formula_where_both_would_fit) {
  MachineFacts facts = machine("6.1.0-40-amd64");  // The formula: 14592 MiB.
  read_as_root(facts, 14592, 5836);                // Of 15565 MiB that were free.
  EXPECT_EQ(rule_of(facts), KfdRule::shares_of_free_ram);
}

TEST(KfdRule, any_amount_of_free_ram_is_recognized) {
  for (std::uint64_t pages = 300'000; pages < 40'000'000; pages += 999'983) {
    const std::uint64_t free = pages * 4096;
    MachineFacts facts = machine("6.17.0", Bytes{free / 9 * 10});
    read_as_root(facts, (free - free / 16) >> 20U, (free / 2 - free / 8) >> 20U);
    EXPECT_EQ(rule_of(facts), KfdRule::shares_of_free_ram) << free;
  }
}

TEST(KfdRule, figures_that_fit_none_leave_it_to_the_version) {
  MachineFacts facts = machine("6.1.0-40-amd64");
  read_as_root(facts, 12345, 6789);
  EXPECT_EQ(rule_of(facts), KfdRule::shares_of_free_ram);
}

TEST(KfdRule, no_figure_is_too_large_to_be_looked_at) {
  MachineFacts facts = machine("6.1.0-40-amd64");
  facts.kfd_limits.system_limit = facts.kfd_limits.ttm_limit = known(Bytes{UINT64_MAX});
  EXPECT_NE(rule_of(facts), std::nullopt);
}

}  // namespace
}  // namespace headroom::facts

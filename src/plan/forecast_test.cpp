// SPDX-License-Identifier: Apache-2.0
#include "plan/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::plan {
namespace {

using facts::Facts;
using facts::Source;
using ::testing::Contains;
using ::testing::HasSubstr;

template <class T>
facts::Fact<T> known(T value, std::string path = "/file") {
  return {std::move(value), Source{std::move(path), 1, ""}};
}

// A Strix Halo; its pool is TTM's limit.
Facts machine(Bytes limit, Bytes carve_out = 512_MiB, Bytes ram = 125_GiB) {
  Facts facts;
  facts.machine.kernel = known(std::string("6.17.0"));
  facts.machine.memory.total = known(ram);
  facts.machine.pages_limit = known(limit);
  facts::Gpu gpu;
  gpu.pci = "0000:c5:00.0";
  gpu.name = "AMD Radeon 8060S";
  gpu.integrated = known(true);
  gpu.vram_total = known(carve_out);
  gpu.gtt_total = known(limit);
  gpu.pool = known(limit);
  gpu.ladder = make_ladder(gpu, facts.machine);
  facts.gpus = {gpu};
  return facts;
}

void boot_with(Facts& facts, const std::string& value, const std::string& path) {
  facts.machine.options.push_back({"ttm", "pages_limit", value, Source{path, 1, ""}});
}

constexpr const char* pages = "31457280";

Forecast of_120_gib() {
  facts::WhatIf change;
  change.pages_limit.value = 120_GiB;
  return make_forecast(predict(machine(Bytes{(125_GiB).value / 2}), change),
                       {{"ttm.pages_limit", pages}});
}

Facts as_wanted() {
  Facts now = machine(120_GiB);
  boot_with(now, pages, "/proc/cmdline");
  now.machine.parameters["ttm.pages_limit"] = known(std::string(pages));
  return now;
}

TEST(Forecast, the_limits_of_the_apu_are_kept_and_which_binds) {
  const Forecast forecast = of_120_gib();
  const auto ttm = std::find_if(forecast.rungs.begin(), forecast.rungs.end(),
                                [](const auto& rung) { return rung.rung == "ttm"; });
  ASSERT_NE(ttm, forecast.rungs.end());
  EXPECT_EQ(ttm->limit, 120_GiB);
  EXPECT_TRUE(ttm->binding);
}

TEST(Compare, what_came_as_predicted) {
  const Comparison comparison = compare(of_120_gib(), as_wanted());
  EXPECT_EQ(comparison.outcome, Outcome::as_predicted);
  EXPECT_TRUE(comparison.reasons.empty());
}

TEST(Compare, one_page_off_is_not_as_predicted) {
  Facts now = machine(120_GiB - 4096_B);
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::differs);
}

TEST(Compare, debugfs_rounds_the_drivers_copy_to_mib_and_that_is_right) {
  Facts now = as_wanted();
  now.machine.kfd_limits.ttm_limit = known(120_GiB - 1_MiB + 1_B);
  now.machine.kfd_limits.system_limit = known(facts::kfd_system_limit(125_GiB));
  now.gpus[0].ladder = make_ladder(now.gpus[0], now.machine);
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::as_predicted);
  now.machine.kfd_limits.ttm_limit = known(120_GiB - 1_MiB);
  now.gpus[0].ladder = make_ladder(now.gpus[0], now.machine);
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::differs);
}

// A machine that really boots Linux 6.1, read by root: 15/16 and 3/8 of what was free.
Facts with_shares_of_free_ram(Bytes limit, Bytes free) {
  constexpr std::uint64_t mib = (1_MiB).value;
  Facts facts = machine(limit, 512_MiB, Bytes{10181856} * 1024);
  facts.machine.kfd_limits.system_limit = known(Bytes{round_down(free.value / 16 * 15, mib)});
  facts.machine.kfd_limits.ttm_limit = known(Bytes{round_down(free.value / 8 * 3, mib)});
  facts.gpus[0].ladder = make_ladder(facts.gpus[0], facts.machine);
  return facts;
}

Forecast of_6_gib_on_6_1() {
  facts::WhatIf change;
  change.pages_limit.value = 6_GiB;
  const Bytes half = Bytes{5090928} * 1024;
  return make_forecast(predict(with_shares_of_free_ram(half, 9738_MiB), change),
                       {{"ttm.pages_limit", "1572864"}});
}

TEST(Forecast, a_limit_that_depends_on_what_is_free_is_forecast_as_a_bound) {
  const Forecast forecast = of_6_gib_on_6_1();
  for (const PredictedRung& rung : forecast.rungs) {
    EXPECT_EQ(rung.at_most, rung.rung == "kfd-system" || rung.rung == "kfd-ttm") << rung.rung;
  }
}

TEST(Compare, a_limit_that_depends_on_what_was_free_may_be_any_below_its_bound) {
  for (const Bytes free : {9738_MiB, 9100_MiB, 5000_MiB}) {
    const Facts now = with_shares_of_free_ram(6_GiB, free);
    EXPECT_EQ(compare(of_6_gib_on_6_1(), now).outcome, Outcome::as_predicted);
  }
}

TEST(Compare, what_the_machine_shows_outweighs_a_forecast_that_did_not_know) {
  facts::WhatIf change;
  change.pages_limit.value = 6_GiB;
  const Facts without_root = machine(5_GiB, 512_MiB, Bytes{10181856} * 1024);
  const Forecast forecast =
      make_forecast(predict(without_root, change), {{"ttm.pages_limit", "1572864"}});
  EXPECT_EQ(compare(forecast, with_shares_of_free_ram(6_GiB, 9738_MiB)).outcome,
            Outcome::as_predicted);
}

TEST(Compare, above_its_bound_no_limit_is_as_predicted) {
  Forecast forecast = of_6_gib_on_6_1();
  for (PredictedRung& rung : forecast.rungs) {
    if (rung.rung == "kfd-ttm") rung.limit = 3_GiB;
  }
  EXPECT_EQ(compare(forecast, with_shares_of_free_ram(6_GiB, 9738_MiB)).outcome, Outcome::differs);
}

TEST(Compare, the_ram_may_be_some_mib_off) {
  Facts now = as_wanted();
  now.machine.memory.total = known(125_GiB - 60_MiB);
  now.gpus[0].ladder = make_ladder(now.gpus[0], now.machine);
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::as_predicted);
}

TEST(Compare, the_old_entry_that_was_booted_is_told_by_the_missing_words) {
  const Comparison comparison = compare(of_120_gib(), machine(Bytes{(125_GiB).value / 2}));
  EXPECT_EQ(comparison.outcome, Outcome::differs);
  EXPECT_THAT(comparison.reasons, Contains(HasSubstr("old boot menu entry")));
}

TEST(Compare, a_stale_initramfs_is_told_by_a_file_that_has_no_effect) {
  Facts now = machine(Bytes{(125_GiB).value / 2});
  boot_with(now, pages, "/etc/modprobe.d/headroom.conf");
  now.machine.parameters["ttm.pages_limit"] = known(std::string("16384000"));
  EXPECT_THAT(compare(of_120_gib(), now).reasons, Contains(HasSubstr("initramfs")));
}

TEST(Compare, the_place_that_overrides_is_named) {
  Facts now = machine(100_GiB);
  boot_with(now, pages, "/etc/modprobe.d/headroom.conf");
  boot_with(now, "26214400", "/proc/cmdline");
  EXPECT_THAT(compare(of_120_gib(), now).reasons,
              Contains(HasSubstr("the kernel command line sets 26214400, and that one wins")));
}

TEST(Compare, a_carve_out_that_was_changed_is_named) {
  Facts now = machine(120_GiB, 64_GiB, 62_GiB);
  boot_with(now, pages, "/proc/cmdline");
  const Comparison comparison = compare(of_120_gib(), now);
  EXPECT_EQ(comparison.outcome, Outcome::differs);
  EXPECT_THAT(comparison.reasons,
              Contains(HasSubstr("carve-out is 64.00 GiB now and was 512.0 MiB")));
}

TEST(Compare, another_kernel_alone_is_no_difference) {
  Facts now = as_wanted();
  now.machine.kernel = known(std::string("7.0.0"));
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::as_predicted);
}

TEST(Compare, another_kernel_is_a_reason_where_the_pool_is_another) {
  Facts now = as_wanted();
  now.machine.kernel = known(std::string("6.8.0"));
  now.gpus[0].pool = known(512_MiB);
  now.gpus[0].ladder = make_ladder(now.gpus[0], now.machine);
  EXPECT_THAT(compare(of_120_gib(), now).reasons, Contains(HasSubstr("Linux 6.8.0 is running")));
}

TEST(Compare, the_other_driver_package_is_told_by_its_module) {
  Facts now = machine(Bytes{(125_GiB).value / 2});
  now.machine.ttm_module = "amdttm";
  EXPECT_THAT(compare(of_120_gib(), now).reasons, Contains(HasSubstr("now the module amdttm")));
}

TEST(Compare, a_gpu_that_is_gone_is_said) {
  Facts now = machine(120_GiB);
  now.gpus.clear();
  const Comparison comparison = compare(of_120_gib(), now);
  EXPECT_EQ(comparison.outcome, Outcome::differs);
  EXPECT_THAT(comparison.reasons, Contains(HasSubstr("amdgpu is not loaded")));
}

TEST(Compare, the_only_apu_is_the_same_one_at_another_address) {
  Facts now = as_wanted();
  now.gpus[0].pci = "0000:c6:00.0";
  EXPECT_EQ(compare(of_120_gib(), now).outcome, Outcome::as_predicted);
}

TEST(Compare, a_limit_that_cannot_be_read_leaves_it_open) {
  Facts now = as_wanted();
  now.gpus[0].gtt_total = {facts::Missing{facts::Why::no_permission, ""}, Source{"/gtt", 0, ""}};
  now.gpus[0].ladder = make_ladder(now.gpus[0], now.machine);
  const Comparison comparison = compare(of_120_gib(), now);
  EXPECT_EQ(comparison.outcome, Outcome::not_known);
  EXPECT_FALSE(comparison.unread.empty());
}

}  // namespace
}  // namespace headroom::plan

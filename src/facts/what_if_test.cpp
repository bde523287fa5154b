// SPDX-License-Identifier: Apache-2.0
// Predicts from its default state the pools that one 128 GB Strix Halo was measured to have under
// five settings, by apellegr/Strix-Halo-Models: ROCM-MEMORY-LIMIT-INVESTIGATION.md. The report does
// not give the RAM; it is twice the measured pool where the pool is half of the RAM.
#include "facts/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/largest_allocation.h"

namespace headroom::facts {
namespace {

using namespace literals;
using ::testing::HasSubstr;

Bytes gib(double value) {
  return {static_cast<std::uint64_t>(value * 1024 * 1024 * 1024)};
}

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, ""}};
}

// As delivered: a carve-out of 512 MiB, half of 122.70 GiB for the GPU.
Facts strix_halo(const char* kernel = "6.17.0") {
  Facts facts;
  facts.machine.kernel = known(std::string(kernel));
  facts.machine.memory.total = known(gib(122.70));
  facts.machine.pages_limit = known(gib(61.35));
  Gpu gpu;
  gpu.gfx = known(std::string("gfx1151"));
  gpu.integrated = known(true);
  gpu.vram_total = known(512_MiB);
  gpu.gtt_total = known(gib(61.35));
  gpu.pool = known(gib(61.35));
  gpu.ladder = make_ladder(gpu, facts.machine);
  facts.gpus = {gpu};
  return facts;
}

Gpu predict_gpu(const Facts& now, const std::vector<std::string>& words) {
  const auto change = parse_what_if(words);
  EXPECT_TRUE(change.has_value()) << change.error().message;
  return predict(now, *change).facts.gpus.front();
}

double pool_after(const std::vector<std::string>& words, const Facts& now = strix_halo()) {
  const Gpu gpu = predict_gpu(now, words);
  EXPECT_TRUE(gpu.pool.known());
  return static_cast<double>(gpu.pool->value) / (1024.0 * 1024 * 1024);
}

constexpr double to_two_digits = 0.005;

TEST(WhatIf, measured_pool_by_default) {
  EXPECT_NEAR(pool_after({"reboot"}), 61.35, to_two_digits);
}

TEST(WhatIf, measured_pool_of_a_large_carve_out_given_up_by_gttsize) {
  EXPECT_NEAR(pool_after({"carveout=96GiB", "gttsize=117760", "ram=30.48GiB"}), 15.24,
              to_two_digits);
}

TEST(WhatIf, measured_pool_of_a_large_carve_out_with_gttsize_and_pages_limit) {
  EXPECT_NEAR(
      pool_after({"carveout=96GiB", "gttsize=117760", "ttm.pages_limit=24576000", "ram=30.48GiB"}),
      93.75, to_two_digits);
}

TEST(WhatIf, measured_pool_of_a_64_gib_carve_out_with_pages_limit) {
  EXPECT_NEAR(pool_after({"carveout=64GiB", "ttm.pages_limit=24576000"}), 93.75, to_two_digits);
}

TEST(WhatIf, measured_pool_of_a_small_carve_out_with_pages_limit) {
  EXPECT_NEAR(pool_after({"carveout=512MiB", "ttm.pages_limit=24576000"}), 93.75, to_two_digits);
}

TEST(WhatIf, without_gttsize_a_large_carve_out_is_the_pool) {
  EXPECT_NEAR(pool_after({"carveout=96GiB"}), 96, to_two_digits);
}

TEST(WhatIf, each_kernel_regime_chooses_its_own_pool) {
  EXPECT_NEAR(pool_after({"kernel=6.8", "carveout=16GiB"}), 16, to_two_digits);
  EXPECT_NEAR(pool_after({"kernel=6.12", "carveout=64GiB"}), (122.70 + 0.5 - 64) / 2, 0.01);
  EXPECT_NEAR(pool_after({"kernel=6.16.9", "carveout=64GiB"}), 64, to_two_digits);
  EXPECT_NEAR(pool_after({"kernel=6.16.9", "carveout=16GiB"}), (122.70 + 0.5 - 16) / 2, 0.01);
}

TEST(WhatIf, what_the_running_kernel_does_outweighs_its_number) {
  // A distribution's 6.8 that carries the change back: its pool is in system memory now.
  EXPECT_NEAR(pool_after({"ttm.pages_limit=100GiB"}, strix_halo("6.8.0-60-generic")), 100,
              to_two_digits);
}

TEST(WhatIf, a_limit_written_into_the_live_file_does_not_outlive_the_reboot) {
  Facts now = strix_halo();
  now.machine.pages_limit = known(gib(100));
  EXPECT_NEAR(pool_after({"reboot"}, now), 61.35, to_two_digits);
}

TEST(WhatIf, what_the_compute_driver_computed_at_load_does_not_outlive_the_reboot) {
  Facts now = strix_halo();
  now.machine.kfd_limits.ttm_limit = known(gib(40));
  now.machine.kfd_limits.system_limit = known(kfd_system_limit(gib(122.70)) - 100_MiB);
  const Gpu gpu = predict_gpu(now, {"ttm.pages_limit=100GiB"});
  ASSERT_NE(gpu.ladder.binding(), nullptr);
  EXPECT_EQ(gpu.ladder.binding()->name, "ttm");
  EXPECT_EQ(*gpu.ladder.rung("kfd-ttm")->limit, gib(100));
  EXPECT_EQ(*gpu.ladder.rung("kfd-system")->limit, kfd_system_limit(gib(122.70)));
}

// A driver whose figures are 15/16 and 3/8 of what was free, read by root in a machine that really
// boots Linux 6.1 (Debian 12, 10 GiB).
Facts with_shares_of_free_ram() {
  Facts now = strix_halo("6.1.0-50-amd64");
  now.machine.memory.total = known(Bytes{10181856} * 1024);
  now.machine.kfd_limits.system_limit = known(9129_MiB);
  now.machine.kfd_limits.ttm_limit = known(3651_MiB);
  return now;
}

TEST(WhatIf, a_limit_that_depends_on_what_is_free_is_a_bound_and_said_to_be) {
  const auto change = *parse_what_if({"ttm.pages_limit=6GiB"});
  const Prediction prediction = predict(with_shares_of_free_ram(), change);
  const Ladder& ladder = prediction.facts.gpus.front().ladder;
  EXPECT_TRUE(ladder.rung("kfd-ttm")->at_most);
  EXPECT_EQ(*ladder.rung("kfd-ttm")->limit, most_of_ttm(Bytes{10181856} * 1024));
  EXPECT_TRUE(ladder.rung("kfd-system")->at_most);
  EXPECT_EQ(ladder.binding()->name, "kfd-ttm");
  EXPECT_THAT(prediction.steps, ::testing::Contains(HasSubstr("kfd-ttm cannot be predicted")));
}

TEST(WhatIf, another_kernel_brings_its_own_rule) {
  const auto change = *parse_what_if({"ttm.pages_limit=6GiB", "kernel=6.12"});
  const Prediction prediction = predict(with_shares_of_free_ram(), change);
  const Ladder& ladder = prediction.facts.gpus.front().ladder;
  EXPECT_EQ(*ladder.rung("kfd-ttm")->limit, 6_GiB);
  EXPECT_FALSE(ladder.rung("kfd-ttm")->at_most);
  EXPECT_EQ(ladder.binding()->name, "ttm");
}

TEST(WhatIf, a_kernel_of_a_distribution_is_taken_whole) {
  Facts now = strix_halo();
  const auto kernel_after = [&now](const char* word) {
    return predict(now, *parse_what_if({word})).facts.machine;
  };
  EXPECT_EQ(*kernel_after("kernel=6.17.0-19-generic").kernel, "6.17.0-19-generic");
  EXPECT_EQ(*kernel_after("kernel=6.18").kernel, "6.18.0");
  now.machine.kernel = known(std::string("6.17.0-14-generic"));
  now.machine.kernel_signature = known(std::string("Ubuntu 6.17.0-14.14~24.04.1-generic 6.17.9"));
  EXPECT_FALSE(kernel_after("kernel=6.18").kernel_signature);
  const MachineFacts after = kernel_after("kernel=6.17.0-19.19~24.04.2");
  EXPECT_EQ(*after.kernel, "6.17.0-19-generic");
  EXPECT_EQ(*after.kernel_signature, "Ubuntu 6.17.0-19.19~24.04.2-generic 6.17.0");
}

TEST(WhatIf, an_option_is_kept_unless_it_is_taken_back) {
  Facts now = strix_halo();
  now.machine.options = {{"ttm", "pages_limit", "26214400", Source{"/proc/cmdline", 1, ""}}};
  EXPECT_NEAR(pool_after({"reboot"}, now), 100, to_two_digits);
  EXPECT_NEAR(pool_after({"ttm.pages_limit=default"}, now), 61.35, to_two_digits);
}

TEST(WhatIf, the_largest_allocation_is_hips_share_of_the_pool) {
  const Gpu gpu = predict_gpu(strix_halo(), {"ttm.pages_limit=100GiB"});
  const auto largest = find_largest_allocation(gpu.ladder);
  ASSERT_TRUE(largest.has_value());
  EXPECT_EQ(largest->rung, "hip");
  EXPECT_EQ(largest->bytes, Bytes{gpu.pool->value / 100 * 85});
  EXPECT_THAT(largest->why, HasSubstr("85 % of 100.00 GiB"));
}

TEST(WhatIf, the_largest_allocation_is_the_ram_that_a_large_carve_out_leaves) {
  const Gpu gpu = predict_gpu(strix_halo(), {"carveout=96GiB", "gttsize=117760",
                                             "ttm.pages_limit=24576000", "ram=30.48GiB"});
  const auto largest = find_largest_allocation(gpu.ladder);
  ASSERT_TRUE(largest.has_value());
  EXPECT_EQ(largest->rung, "kfd-system");
  EXPECT_EQ(largest->bytes, kfd_system_limit(*gpu.ladder.rung("ram")->limit));
}

TEST(WhatIf, lifting_the_system_limit_leaves_the_ram) {
  const Gpu gpu = predict_gpu(strix_halo(), {"no_system_mem_limit=1", "ttm.pages_limit=200GiB"});
  EXPECT_EQ(gpu.ladder.binding()->name, "ram");
}

TEST(WhatIf, a_card_of_its_own_is_left_alone) {
  Facts now = strix_halo();
  now.gpus[0].integrated = known(false);
  now.gpus[0].pool = known(24_GiB);
  const auto change = *parse_what_if({"ttm.pages_limit=100GiB"});
  const Prediction prediction = predict(now, change);
  EXPECT_EQ(*prediction.facts.gpus[0].pool, 24_GiB);
  EXPECT_THAT(prediction.steps.front(), HasSubstr("change nothing"));
}

TEST(WhatIf, a_parameter_that_no_limit_depends_on_is_said_to_have_no_effect) {
  const auto knobs = *knowledge::load_knobs();
  for (const char* word : {"vm_size=131072", "amdgpu.vm_size=131072"}) {
    const auto change = parse_what_if({word}, &knobs);
    ASSERT_TRUE(change.has_value()) << word;
    const Facts now = strix_halo();
    const Prediction prediction = predict(now, *change);
    const Prediction plain = predict(now, *parse_what_if({"reboot"}));
    EXPECT_EQ(prediction.facts.gpus[0].pool.optional(), plain.facts.gpus[0].pool.optional());
    EXPECT_THAT(prediction.steps,
                ::testing::Contains(HasSubstr("amdgpu.vm_size=131072 has no effect")));
  }
  // These do limit memory, by rules that are not computed.
  EXPECT_FALSE(parse_what_if({"vramlimit=1024"}, &knobs).has_value());
  EXPECT_FALSE(parse_what_if({"no_such_parameter=1"}, &knobs).has_value());
}

TEST(WhatIf, mistakes_name_what_was_expected) {
  for (const char* word :
       {"ttm.page_limit=5", "gttsize=", "carveout=512", "carveout", "kernel=six", "pages_limit=0",
        "no_system_mem_limit=2", "", "=", "ram=-1GiB", "gttsize=99999999999999999999"}) {
    const auto change = parse_what_if({word});
    ASSERT_FALSE(change.has_value()) << word;
    EXPECT_THAT(change.error().message, HasSubstr("expected")) << word;
  }
  EXPECT_EQ(parse_what_if({"ttm.page_limit=5"}).error().next, "did you mean ttm.pages_limit?");
}

}  // namespace
}  // namespace headroom::facts

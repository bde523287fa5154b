// SPDX-License-Identifier: Apache-2.0
#include "facts/ladder.h"

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

struct Case {
  Gpu gpu;
  MachineFacts machine;
};

// An APU with its carve-out, GTT and pool, in a machine with this RAM and TTM limit.
Case apu(Bytes carve_out, Bytes gtt, Bytes pool, Bytes ram, Bytes ttm) {
  Case c;
  c.gpu.integrated = known(true);
  c.gpu.vram_total = known(carve_out);
  c.gpu.gtt_total = known(gtt);
  c.gpu.pool = known(pool);
  c.machine.memory.total = known(ram);
  c.machine.pages_limit = known(ttm);
  c.machine.kernel = known(std::string("6.17.0"));
  return c;
}

std::string binding(const Case& c) {
  const Ladder ladder = make_ladder(c.gpu, c.machine);
  return ladder.binding() == nullptr ? "" : ladder.binding()->name;
}

TEST(Ladder, of_equal_limits_the_one_upstream_binds) {
  EXPECT_EQ(binding(apu(512_MiB, 120_GiB, 62_GiB, 125_GiB, 62_GiB)), "ttm");
}

TEST(Ladder, a_small_gtt_binds_although_the_pool_is_larger) {
  EXPECT_EQ(binding(apu(512_MiB, 8_GiB, 15_GiB, 30_GiB, 15_GiB)), "gtt");
}

TEST(Ladder, a_pool_fixed_before_the_limit_was_raised_binds) {
  EXPECT_EQ(binding(apu(512_MiB, 120_GiB, 62_GiB, 125_GiB, 100_GiB)), "pool");
}

TEST(Ladder, lowering_the_live_limit_bites) {
  EXPECT_EQ(binding(apu(512_MiB, 120_GiB, 120_GiB, 125_GiB, 40_GiB)), "ttm");
}

TEST(Ladder, a_limit_above_the_ram_leaves_the_drivers_own_limit_to_bind) {
  EXPECT_EQ(binding(apu(64_GiB, 94_GiB, 94_GiB, 62_GiB, 94_GiB)), "kfd-system");
}

TEST(Ladder, the_pool_tells_the_route) {
  const auto route = [](const Case& c) { return *infer_route(c.gpu, c.machine); };
  EXPECT_EQ(route(apu(1_GiB, 8_GiB, 1_GiB, 14_GiB, 7_GiB)), Route::vram);
  EXPECT_EQ(route(apu(96_GiB, 15_GiB, 96_GiB, 30_GiB, 15_GiB)), Route::vram);
  EXPECT_EQ(route(apu(96_GiB, 115_GiB, 15_GiB, 30_GiB, 15_GiB)), Route::gtt);
  EXPECT_EQ(route(apu(64_GiB, 94_GiB, 94_GiB, 62_GiB, 94_GiB)), Route::gtt);
}

TEST(Ladder, without_the_pool_the_drivers_rule_is_repeated) {
  Case c = apu(512_MiB, 15_GiB, {}, 30_GiB, 15_GiB);
  c.gpu.pool = {Missing{Why::no_permission, ""}, Source{}};
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::gtt);
  c.gpu.vram_total = known(16_GiB);
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::vram);
  c.machine.kernel = known(std::string("6.12.48+deb13-amd64"));
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::gtt);
  c.machine.kernel = known(std::string("6.5.0-valve"));
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::vram);
  c.machine.kernel = {Missing{Why::not_present, ""}, Source{}};
  EXPECT_FALSE(infer_route(c.gpu, c.machine).known());
  c.machine.kernel = known(std::string());
  EXPECT_FALSE(infer_route(c.gpu, c.machine).known());
}

TEST(Ladder, a_slice_of_an_mi300a_is_its_own_memory) {
  Case c = apu({100742320128}, {404077973504}, {101015355392}, 500_GiB, {404077973504});
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::vram);
  c.gpu.gfx = known(std::string("gfx942"));
  c.gpu.pool = known(Bytes{16835000000});
  EXPECT_EQ(*infer_route(c.gpu, c.machine), Route::vram);
  EXPECT_EQ(binding(c), "pool");
}

TEST(Ladder, a_card_allocates_from_vram_and_no_system_limit_applies) {
  Case c = apu(20_GiB, 31_GiB, 20_GiB, 62_GiB, 31_GiB);
  c.gpu.integrated = known(false);
  const Ladder ladder = make_ladder(c.gpu, c.machine);
  EXPECT_EQ(ladder.binding()->name, "vram");
  for (const char* rung : {"ram", "ttm", "gtt", "kfd-system", "cgroup"}) {
    EXPECT_FALSE(ladder.rung(rung)->applies) << rung;
  }
}

TEST(Ladder, what_is_free_and_what_caps_one_allocation_never_bind) {
  Case c = apu(512_MiB, 62_GiB, 62_GiB, 125_GiB, 62_GiB);
  c.machine.memory.available = known(1_GiB);
  const Ladder ladder = make_ladder(c.gpu, c.machine);
  EXPECT_EQ(ladder.binding()->name, "ttm");
  EXPECT_EQ(ladder.rung("hip")->limit->value, (62_GiB).value / 100 * 85);
}

TEST(Ladder, a_vram_limit_of_the_control_group_binds) {
  Case c = apu(20_GiB, 31_GiB, 20_GiB, 62_GiB, 31_GiB);
  c.gpu.integrated = known(false);
  c.gpu.pci = "0000:03:00.0";
  c.machine.cgroup.dmem_max = {known(std::string("drm/0000:03:00.0/vram0 1073741824\n"))};
  EXPECT_EQ(binding(c), "dmem");
}

// What mem_limit says, in MiB, of a machine where root reads.
void read_as_root(Case& c, std::uint64_t system_mib, std::uint64_t ttm_mib) {
  const Source file{"/sys/kernel/debug/kfd/mem_limit", 1, ""};
  c.machine.kfd_limits.system_limit = {1_MiB * system_mib, file};
  c.machine.kfd_limits.ttm_limit = {1_MiB * ttm_mib, file};
}

TEST(Ladder, a_copy_that_counts_in_mib_does_not_outbid_what_it_was_copied_from) {
  const Bytes half = {67081035776};  // 63973.46 MiB.
  Case c = apu(512_MiB, half, half, {134162075648}, half);
  read_as_root(c, 124411, 63973);
  EXPECT_EQ(binding(c), "ttm");
}

TEST(Ladder, a_limit_of_the_driver_below_all_others_binds_although_it_is_rounded) {
  Case c = apu(512_MiB, 5_GiB, 5_GiB, 10_GiB, 5_GiB);
  read_as_root(c, 9129, 3651);
  EXPECT_EQ(binding(c), "kfd-ttm");
}

TEST(Ladder, shares_of_what_was_free_are_no_copy_of_ttms_limit) {
  Case c = apu(512_MiB, 5_GiB, 5_GiB, 10_GiB, 5_GiB);
  read_as_root(c, 9129, 3651);  // 15/16 and 3/8 of 9738 MiB.
  const Ladder ladder = make_ladder(c.gpu, c.machine);
  EXPECT_EQ(*ladder.kfd_rule, KfdRule::shares_of_free_ram);
  EXPECT_EQ(ladder.ttm_at_load(), nullptr);
  EXPECT_TRUE(ladder.varies("kfd-ttm"));
  EXPECT_TRUE(ladder.varies("kfd-system"));
  EXPECT_FALSE(ladder.varies("pool"));
}

TEST(Ladder, nothing_known_is_nothing_binding) {
  const Ladder ladder = make_ladder(Gpu{}, MachineFacts{});
  EXPECT_EQ(ladder.binding(), nullptr);
  EXPECT_EQ(ladder.rungs.size(), 14U);
}

}  // namespace
}  // namespace headroom::facts

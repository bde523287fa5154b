// SPDX-License-Identifier: Apache-2.0
// The rows of the holders' table add up to the driver's counter, whatever the holders claim.
#include <gtest/gtest.h>

#include "facts/gpu.h"

namespace headroom::facts {
namespace {

using namespace literals;

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

Holder holder(Bytes vram, Whereabouts whereabouts, Bytes gtt = {}) {
  Holder made;
  made.vram = vram;
  made.gtt = gtt;
  made.whereabouts = whereabouts;
  return made;
}

Gpu gpu_with(bool integrated, Bytes vram_used, std::vector<Holder> holders) {
  Gpu gpu;
  gpu.integrated = known(integrated);
  gpu.vram_total = known(20_GiB);
  gpu.vram_used = known(vram_used);
  gpu.gtt_used = known(3_GiB);
  gpu.holders = std::move(holders);
  return gpu;
}

void expect_that_it_adds_up(const Accounting& account) {
  EXPECT_EQ(*account.here + *account.outside + *account.gone + *account.baseline +
                *account.unattributed - *account.beyond,
            *account.used);
}

TEST(Accounting, every_byte_has_a_row) {
  const auto account = make_accounting(
      gpu_with(false, 10_GiB,
               {holder(1_GiB, Whereabouts::here), holder(2_GiB, Whereabouts::outside),
                holder(3_GiB, Whereabouts::gone)}));
  EXPECT_EQ(*account.here, 1_GiB);
  EXPECT_EQ(*account.outside, 2_GiB);
  EXPECT_EQ(*account.gone, 3_GiB);
  EXPECT_GT(account.unattributed->value, (3_GiB).value);
  expect_that_it_adds_up(account);
}

TEST(Accounting, an_idle_card_is_the_drivers_own_and_nothing_is_left_over) {
  const auto account = make_accounting(gpu_with(false, 19_MiB, {}));
  EXPECT_EQ(*account.baseline, 19_MiB);
  EXPECT_EQ(*account.unattributed, 0_B);
}

TEST(Accounting, shared_buffers_counted_by_each_holder_are_said) {
  const auto account = make_accounting(
      gpu_with(false, 4_GiB, {holder(3_GiB, Whereabouts::here), holder(3_GiB, Whereabouts::here)}));
  EXPECT_EQ(*account.beyond, 2_GiB);
  EXPECT_EQ(*account.unattributed, 0_B);
  expect_that_it_adds_up(account);
}

TEST(Accounting, on_an_apu_carve_out_and_gtt_are_one_memory) {
  const auto account =
      make_accounting(gpu_with(true, 1_GiB, {holder(0_B, Whereabouts::here, 2_GiB)}));
  EXPECT_EQ(*account.used, 4_GiB);
  EXPECT_EQ(*account.here, 2_GiB);
  expect_that_it_adds_up(account);
}

TEST(Accounting, without_the_drivers_counter_nothing_is_claimed_of_the_rest) {
  Gpu gpu = gpu_with(false, 1_GiB, {holder(1_GiB, Whereabouts::here)});
  gpu.vram_used = {Missing{Why::asleep, ""}, Source{}};
  const auto account = make_accounting(gpu);
  EXPECT_EQ(*account.here, 1_GiB);
  EXPECT_FALSE(account.unattributed.known());
  EXPECT_FALSE(account.baseline.known());
  EXPECT_FALSE(account.beyond.known());
}

TEST(Accounting, a_holder_whose_share_is_not_told_makes_no_sum) {
  Holder silent = holder({}, Whereabouts::here);
  silent.vram = silent.gtt = std::nullopt;
  const auto account =
      make_accounting(gpu_with(false, 10_GiB, {holder(1_GiB, Whereabouts::here), silent}));
  EXPECT_FALSE(account.here.known());
  EXPECT_FALSE(account.unattributed.known());
  EXPECT_EQ(*account.gone, 0_B);
}

TEST(Accounting, the_drivers_own_follows_from_the_size_of_its_memory) {
  Gpu gpu = gpu_with(false, 10_GiB, {});
  gpu.vram_total = {Missing{Why::unreadable, ""}, Source{}};
  EXPECT_FALSE(make_accounting(gpu).baseline.known());
}

TEST(Accounting, of_a_gpu_that_may_be_an_apu_vram_alone_is_not_what_is_in_use) {
  Gpu gpu = gpu_with(false, 10_GiB, {});
  gpu.integrated = {Missing{Why::not_present, ""}, Source{}};
  EXPECT_FALSE(make_accounting(gpu).used.known());
}

}  // namespace
}  // namespace headroom::facts

// SPDX-License-Identifier: Apache-2.0
#include "knowledge/cards.h"

#include <gtest/gtest.h>

namespace headroom::knowledge {
namespace {

TEST(Cards, are_found_by_the_names_people_use) {
  for (const char* name : {"MI50", "mi50", "AMD Instinct MI50", "instinct mi-50"}) {
    const auto card = find_card(name);
    ASSERT_TRUE(card.has_value()) << name;
    EXPECT_EQ(card->target, "gfx906");
    EXPECT_EQ(card->blas_workspace, 32_MiB);
  }
  EXPECT_EQ(find_card("Radeon RX 7900 XT")->vram, 20464_MiB);
  EXPECT_EQ(find_card("MI300X")->blas_workspace, 128_MiB);
  EXPECT_EQ(find_card("NVIDIA A100 80GB")->blas_workspace, 8320_KiB);
  EXPECT_EQ(find_card("h100-80gb")->blas_workspace, 32_MiB);
}

TEST(Cards, kernels_are_those_that_pytorch_has_for_them) {
  EXPECT_EQ(find_card("MI50")->attention, FusedAttention::none);
  EXPECT_EQ(find_card("RX 7900 XT")->attention, FusedAttention::flash);
  EXPECT_EQ(find_card("V100 16GB")->attention, FusedAttention::efficient);
  EXPECT_EQ(find_card("A100 40GB")->attention, FusedAttention::flash);
}

TEST(Cards, capacity_tells_the_card_only_where_no_other_one_shows_it) {
  const auto a100 = find_by_capacity(*parse_bytes("79.15GiB"));
  ASSERT_TRUE(a100.has_value() && a100->has_value());
  EXPECT_EQ((*a100)->vendor, Vendor::nvidia);
  EXPECT_EQ((*a100)->card.value().name, "A100 80GB");
  const auto shared = find_by_capacity(32752_MiB);  // MI50, MI60, MI100, W6800.
  ASSERT_TRUE(shared.has_value() && shared->has_value());
  EXPECT_EQ((*shared)->vendor, Vendor::amd);
  EXPECT_FALSE((*shared)->card.has_value());
  EXPECT_FALSE(find_by_capacity(16_GiB)->has_value());
  EXPECT_FALSE(find_by_capacity(*parse_bytes("79.14GiB"))->has_value());
}

TEST(Cards, the_end_of_a_name_and_a_target_find_it) {
  EXPECT_EQ(find_card("7900xt")->name, find_card("RX 7900 XT")->name);
  EXPECT_EQ(find_card("7900-XTX")->name, find_card("RX 7900 XTX")->name);
  // Several have this target, and an end of two letters is of too many.
  const auto several = find_card("gfx906");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().next.find("MI50"), std::string::npos) << several.error().next;
  EXPECT_FALSE(find_card("XT"));
}

TEST(Cards, unknown_name_suggests_the_nearest) {
  const auto card = find_card("RX 7900 XY");
  ASSERT_FALSE(card.has_value());
  EXPECT_NE(card.error().next.find("RX 7900 XT"), std::string::npos) << card.error().next;
  const auto short_name = find_card("MI50x");
  ASSERT_FALSE(short_name.has_value());
  EXPECT_NE(short_name.error().next.find("Instinct MI50"), std::string::npos)
      << short_name.error().next;
}

}  // namespace
}  // namespace headroom::knowledge

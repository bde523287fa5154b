// SPDX-License-Identifier: Apache-2.0
#include "knowledge/cards.h"

#include <gtest/gtest.h>

namespace headroom::knowledge {
namespace {

TEST(Cards, are_found_by_the_names_people_use) {
  for (const char* name : {"MI50", "mi50", "AMD Instinct MI50", "instinct mi-50"}) {
    const auto card = find_card(name);
    ASSERT_TRUE(card.has_value()) << name;
    EXPECT_EQ(card->gfx, "gfx906");
    EXPECT_EQ(card->blas_workspace, 32_MiB);
  }
  EXPECT_EQ(find_card("Radeon RX 7900 XT")->vram, 20464_MiB);
  EXPECT_EQ(find_card("MI300X")->blas_workspace, 128_MiB);
}

TEST(Cards, unknown_name_suggests_the_nearest) {
  const auto card = find_card("RX 7900 XY");
  ASSERT_FALSE(card.has_value());
  EXPECT_NE(card.error().next.find("RX 7900 XT"), std::string::npos) << card.error().next;
}

}  // namespace
}  // namespace headroom::knowledge

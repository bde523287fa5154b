// SPDX-License-Identifier: Apache-2.0
#include "machine/terminal.h"

#include <gtest/gtest.h>

namespace headroom::machine {
namespace {

TEST(TextWidth, is_the_terminals_between_20_and_200) {
  EXPECT_EQ(text_width(true, 80, ""), 80U);
  EXPECT_EQ(text_width(true, 7, ""), 20U);
  EXPECT_EQ(text_width(true, 60000, ""), 200U);
}

TEST(TextWidth, is_100_where_nobody_reads_along) {
  EXPECT_EQ(text_width(false, 0, ""), 100U);
  EXPECT_EQ(text_width(false, 0, "40"), 100U);
}

TEST(TextWidth, a_variable_counts_where_the_terminal_says_nothing) {
  EXPECT_EQ(text_width(true, 0, "40"), 40U);
  EXPECT_EQ(text_width(true, 120, "40"), 120U);
  for (const char* variable : {"", "wide", "-3", "0", "99999999999999999999"}) {
    EXPECT_EQ(text_width(true, 0, variable), 100U) << variable;
  }
}

}  // namespace
}  // namespace headroom::machine

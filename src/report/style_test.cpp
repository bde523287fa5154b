// SPDX-License-Identifier: Apache-2.0
#include "report/style.h"

#include <gtest/gtest.h>

namespace headroom::report {
namespace {

TEST(Style, no_colour_unless_asked) {
  EXPECT_EQ(Style{}.red("x"), "x");
  EXPECT_EQ(Style{true}.bold("x"), "\x1b[1mx\x1b[0m");
}

TEST(Style, folding_indents_under_the_first_word_and_keeps_long_words_whole) {
  EXPECT_EQ(fold("aa bb cc", "1. ", 8), "1. aa bb\n   cc\n");
  EXPECT_EQ(fold("a /a/very/long/path b", "", 5), "a\n/a/very/long/path\nb\n");
  EXPECT_EQ(fold("", "x", 10), "x\n");
}

TEST(Style, columns_line_up_by_what_is_seen) {
  const auto lines = align({{"ä", "1"}, {"bbb", "22"}}, {Align::left, Align::right});
  EXPECT_EQ(lines[0], "ä     1");
  EXPECT_EQ(lines[1], "bbb  22");
}

TEST(Style, nothing_from_a_machine_steers_the_terminal) {
  EXPECT_EQ(printable("a\x1b[31m\tb\x7f"), "a?[31m?b?");
  EXPECT_EQ(printable("größe"), "größe");
  EXPECT_EQ(printable("gr\xf6\xdf"), "gr??");
}

}  // namespace
}  // namespace headroom::report

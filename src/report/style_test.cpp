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

TEST(Style, where_the_first_words_take_most_of_the_width_the_text_goes_below_them) {
  EXPECT_EQ(fold("some more words", "  a long heading:  ", 20),
            "  a long heading:\n    some more words\n");
}

TEST(Style, colours_take_no_room) {
  const Style painted{true};
  EXPECT_EQ(display_width(painted.bold("ab")), 2U);
  EXPECT_EQ(fold("aa bb cc", painted.red("w: "), 8), painted.red("w: ") + "aa bb\n   cc\n");
}

TEST(Style, a_coloured_line_keeps_its_indentation_when_it_is_folded) {
  const Style painted{true};
  EXPECT_EQ(fit(painted.dim("      some words that are long") + "\n", 20),
            "     \x1b[2msome words that\n       are long\x1b[0m\n");
  EXPECT_EQ(fit("  " + painted.dim("  some words\n"), 8), "  \x1b[2msome\n    words\n\x1b[0m");
}

TEST(Style, a_report_is_folded_only_where_a_line_is_too_long) {
  EXPECT_EQ(fit("a  b\n\n  next line that is long\n", 14),
            "a  b\n\n  next line\n    that is\n    long\n");
  EXPECT_EQ(fit("  " + keep_whole("sudo headroom undo") + " (now)\n", 10),
            "  sudo headroom undo\n    (now)\n");
}

TEST(Style, the_next_command_stays_whole) {
  const Style narrow{false, 20};
  EXPECT_EQ(fit(next_line("headroom fix ttm-cap", "(shows what it would do)", narrow), 20),
            "Next:\n  headroom fix ttm-cap\n      (shows what it\n      would do)\n");
  EXPECT_EQ(fit(next_line("headroom fix", "(lists)", Style{}), 100),
            "Next: headroom fix   (lists)\n");
}

std::string lines_of(const std::vector<TableLine>& lines) {
  std::string text;
  for (const TableLine& line : lines) text += line.text + "\n";
  return text;
}

TEST(Style, a_table_folds_its_words_and_becomes_a_list_where_that_is_not_enough) {
  const std::vector<std::vector<std::string>> rows = {
      {"", "rung", "limit", "what it is"}, {">", "ttm", "61.88 GiB", "the kernel's own limit"}};
  const std::vector<Align> columns = {Align::left, Align::left, Align::right, Align::left};
  EXPECT_EQ(lines_of(table(rows, columns, 2, 60)),
            "     rung      limit  what it is\n  >  ttm   61.88 GiB  the kernel's own limit\n");
  EXPECT_EQ(lines_of(table(rows, columns, 2, 36)),
            "     rung      limit  what it is\n"
            "  >  ttm   61.88 GiB  the kernel's\n"
            "                      own limit\n");
  EXPECT_EQ(lines_of(table(rows, columns, 2, 20)),
            "  > ttm\n    limit: 61.88 GiB\n    what it is: the\n    kernel's own\n    limit\n");
}

TEST(Style, a_column_too_narrow_to_be_read_makes_the_table_a_list) {
  const std::vector<std::vector<std::string>> rows = {
      {"held by", "where", ""},
      {"shell", "org.gnome.Shell@wayland.service", "left alone: it is part of the desktop"}};
  const std::vector<Align> columns = {Align::left, Align::left, Align::left};
  EXPECT_EQ(lines_of(table(rows, columns, 2, 54)),
            "  shell\n    where: org.gnome.Shell@wayland.service\n"
            "    left alone: it is part of the desktop\n");
}

}  // namespace
}  // namespace headroom::report

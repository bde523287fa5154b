// SPDX-License-Identifier: Apache-2.0
#include "base/fill_in.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(FillIn, words_are_filled_in_wherever_they_stand) {
  EXPECT_EQ(fill_in("# of @id@ (@day@).\nsay '@id@'", {{"id", "7"}, {"day", "Monday"}}),
            "# of 7 (Monday).\nsay '7'");
}

TEST(FillIn, the_lines_of_an_example_give_way_to_one_filling) {
  const std::string text = "begin\nput a  # @steps@\nput b  # @steps@\nend\n";
  EXPECT_EQ(fill_in(text, {{"steps", "put x\nput y\nput z\n"}}),
            "begin\nput x\nput y\nput z\nend\n");
  EXPECT_EQ(fill_in(text, {{"steps", ""}}), "begin\nend\n");
}

TEST(FillIn, examples_of_two_blanks_in_a_row_are_filled_in_each) {
  EXPECT_EQ(fill_in("a  # @one@\nb  # @two@\nc  # @one@\n", {{"one", "1\n"}, {"two", "2\n"}}),
            "1\n2\n1\n");
}

TEST(FillIn, a_shells_own_at_signs_stay) {
  const std::string text = "for word in \"$@\"; do each \"$@\"; done  # of @nobody@\nx@y@z # @\n";
  EXPECT_EQ(fill_in(text, {{"id", "7"}}), text);
}

TEST(FillIn, what_is_filled_in_is_not_looked_through_again) {
  EXPECT_EQ(fill_in("@a@ @b@\nx # @a@\n", {{"a", "@b@ # @a@\n"}, {"b", "2"}}),
            "@b@ # @a@\n 2\n@b@ # @a@\n");
}

}  // namespace
}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom {
namespace {

TEST(Printable, what_steers_a_terminal_or_hides_is_a_question_mark) {
  EXPECT_EQ(printable("a\x1b[31mb\tc\nd\x7f"), "a?[31mb?c?d?");
  EXPECT_EQ(printable("csi \xc2\x9b"
                      "2J"),
            "csi ?2J");
  for (const char* hidden :
       {"\xc2\x80", "\xc2\x9f", "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b", "\xe2\x80\x8d",
        "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
        "\xe2\x80\xae", "\xe2\x81\xa0", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xb8\x8f",
        "\xef\xbb\xbf", "\xf3\xa0\x80\x81", "\xf3\xa0\x81\xbf"}) {
    EXPECT_EQ(printable(std::string("x") + hidden + "y"), "x?y");
  }
}

TEST(Printable, every_byte_that_is_no_utf8_is_one_question_mark) {
  EXPECT_EQ(printable("gr\xf6\xdf"), "gr??");
  EXPECT_EQ(printable("\xe2\x82 größe \xed\xa0\x80"), "?? größe ???");
}

TEST(Printable, text_of_any_script_stays) {
  for (const char* text : {"größe", "память", "内存", "זיכרון", "│ █▉ … — → ×", "𝛼"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, pages_keep_lines_tabs_and_our_own_colours_only) {
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b[1m"), "a\n\tb??[1m");
  EXPECT_EQ(printable_page("\x1b[1;31mproblem\x1b[0m\n"), "\x1b[1;31mproblem\x1b[0m\n");
  EXPECT_EQ(printable_page("\x1b[2J\x1b]0;title\x07\x1b[8m"), "?[2J?]0;title??[8m");
}

TEST(Printable, json_says_the_same_with_escapes) {
  const Json value = {{"name", "a\xc2\x9b\xe2\x80\xae\x7f\xf3\xa0\x80\x81ö"}};
  const std::string text = printable_json(value.dump(2));
  EXPECT_EQ(text, "{\n  \"name\": \"a\\u009b\\u202e\\u007f\\udb40\\udc01ö\"\n}");
  EXPECT_EQ(*parse_json(text), value);
}

}  // namespace
}  // namespace headroom

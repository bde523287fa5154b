// SPDX-License-Identifier: Apache-2.0
#include "screen/styled_text.h"

#include <gtest/gtest.h>

namespace headroom::screen {
namespace {

TEST(SplitSpans, of_plain_text_is_the_text) {
  const auto spans = split_spans("a line");
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].text, "a line");
  EXPECT_TRUE(split_spans("").empty());
}

TEST(SplitSpans, takes_the_colours_of_a_style) {
  const auto spans = split_spans("a \x1b[1;31mfull\x1b[0m card");
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].text, "full");
  EXPECT_TRUE(spans[1].bold);
  EXPECT_EQ(spans[1].colour, Colour::red);
  EXPECT_EQ(spans[2].text, " card");
  EXPECT_FALSE(spans[2].bold);
  EXPECT_EQ(spans[2].colour, Colour::none);
}

TEST(SplitSpans, leaves_out_what_is_no_colour) {
  const auto spans = split_spans("a\x1b[2");
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].text, "a");
  EXPECT_EQ(split_spans("\x1b"
                        "b")[0]
                .text,
            "b");
}

}  // namespace
}  // namespace headroom::screen

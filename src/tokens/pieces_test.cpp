// SPDX-License-Identifier: Apache-2.0
#include "tokens/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;

// "the-final--countdown" with the hyphens as matches, as the documentation of Hugging Face's
// tokenizers explains the behaviours with it.
std::vector<std::string> join(Delimiter delimiter) {
  const std::string_view text = "the-final--countdown";
  const std::vector<Part> parts = {{{0, 3}, false}, {{3, 4}, true},   {{4, 9}, false},
                                   {{9, 10}, true}, {{10, 11}, true}, {{11, 20}, false}};
  std::vector<std::string> pieces;
  for (const Span& span : join_parts(parts, delimiter))
    pieces.emplace_back(text.substr(span.begin, span.end - span.begin));
  return pieces;
}

TEST(Pieces, delimiters_go_where_the_behaviour_says) {
  EXPECT_THAT(join(Delimiter::removed), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(join(Delimiter::isolated), ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(join(Delimiter::merged_with_previous),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(join(Delimiter::merged_with_next), ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(join(Delimiter::contiguous), ElementsAre("the", "-", "final", "--", "countdown"));
}

TEST(Pieces, a_piece_is_at_the_start_only_while_its_beginning_is) {
  const auto first_is_match = [](std::string_view piece, std::vector<Part>& parts) {
    parts = {{{0, 1}, true}, {{1, piece.size()}, false}};
    return Status(Done{});
  };
  Pieces kept{"-ab", {{0, 3}}, true};
  ASSERT_TRUE(kept.cut(Delimiter::isolated, first_is_match));
  EXPECT_TRUE(kept.at_start);
  Pieces removed{"-ab", {{0, 3}}, true};
  ASSERT_TRUE(removed.cut(Delimiter::removed, first_is_match));
  EXPECT_FALSE(removed.at_start);
  EXPECT_EQ(removed.at(removed.spans[0]), "ab");
}

}  // namespace
}  // namespace headroom::tokens

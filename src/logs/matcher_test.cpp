// SPDX-License-Identifier: Apache-2.0
#include "logs/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

knowledge::SignatureTable table_of(const std::vector<std::string>& expressions) {
  knowledge::SignatureTable table;
  for (const std::string& expression : expressions) {
    knowledge::Signature signature;
    signature.id = "s" + std::to_string(table.rows.size());
    signature.match = expression;
    table.rows.push_back(signature);
  }
  return table;
}

std::vector<int> match(const knowledge::SignatureTable& table, std::string_view line) {
  const auto matcher = Matcher::make(table);
  EXPECT_TRUE(matcher.has_value()) << matcher.error().message;
  std::vector<int> places;
  Matcher::Scratch scratch;
  matcher->match(line, places, scratch);
  // Where something matches, the search for candidates does not pass it by.
  EXPECT_TRUE(places.empty() || matcher->find_candidate(line, 0) != std::string_view::npos);
  return places;
}

TEST(Matcher, names_what_matches_in_the_order_of_the_table) {
  const auto table = table_of({"memory access fault", "out of memory", "(?i)HIP .*memory"});
  EXPECT_THAT(match(table, "hip out of memory, memory access fault"), ElementsAre(0, 1, 2));
  EXPECT_THAT(match(table, "HIP Out Of Memory"), ElementsAre(2));
  EXPECT_THAT(match(table, "nothing"), IsEmpty());
  EXPECT_THAT(match(table, ""), IsEmpty());
}

TEST(Matcher, finds_words_that_overlap_and_lie_within_others) {
  const auto table = table_of({"abcdef", "bcd", "defghi", "cde", "fgh"});
  EXPECT_THAT(match(table, "abcdefghi"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(match(table, "ababcdabcde"), ElementsAre(1, 3));
}

TEST(Matcher, alternatives_need_one_of_their_words) {
  const auto table = table_of({"(?:alpha|beta).*(?:gamma|delta)|epsilon"});
  EXPECT_THAT(match(table, "beta then delta"), ElementsAre(0));
  EXPECT_THAT(match(table, "an epsilon"), ElementsAre(0));
  EXPECT_THAT(match(table, "alpha alone"), IsEmpty());
  EXPECT_THAT(match(table, "gamma before alpha"), IsEmpty());
}

TEST(Matcher, letters_fold_only_where_asked) {
  EXPECT_THAT(match(table_of({"HIP error"}), "hip ERROR"), IsEmpty());
  EXPECT_THAT(match(table_of({"(?i)HIP error"}), "hip ERROR"), ElementsAre(0));
  EXPECT_THAT(match(table_of({"größer als"}), "ist größer als"), ElementsAre(0));
}

TEST(Matcher, hostile_bytes_are_text) {
  const std::string line = std::string("\xFF\x00\xC3(", 4) + "out of memory\x80";
  EXPECT_THAT(match(table_of({"out of memory"}), line), ElementsAre(0));
}

TEST(Matcher, values_are_by_name_and_absent_ones_have_no_entry) {
  const auto table = table_of({"(?P<size>\\d+) (?:GiB|MiB of (?P<what>\\w+)) wanted"});
  const auto matcher = Matcher::make(table);
  ASSERT_TRUE(matcher.has_value());
  const auto found = matcher->extract(0, "here 12 MiB of vram wanted");
  EXPECT_THAT(found.values, ElementsAre(Pair("size", "12"), Pair("what", "vram")));
  EXPECT_EQ(found.begin, 5U);
  EXPECT_EQ(found.end, 26U);
  EXPECT_THAT(matcher->extract(0, "12 GiB wanted").values, ElementsAre(Pair("size", "12")));
}

TEST(Matcher, expressions_that_are_none_or_would_match_any_line_are_refused) {
  for (const char* wrong : {"(", "\\d+", "ab", "out of memory|\\d", "(?:word)?", ""}) {
    const auto table = table_of({"fine words", wrong});
    const auto matcher = Matcher::make(table);
    ASSERT_FALSE(matcher.has_value()) << wrong;
    EXPECT_NE(matcher.error().message.find("s1"), std::string::npos) << matcher.error().message;
  }
}

TEST(Matcher, table_without_rows_matches_nothing) {
  EXPECT_THAT(match({}, "out of memory"), IsEmpty());
}

TEST(Matcher, real_table_compiles) {
  const auto table = knowledge::load_signatures();
  ASSERT_TRUE(table.has_value());
  const auto matcher = Matcher::make(*table);
  EXPECT_TRUE(matcher.has_value()) << matcher.error().message;
}

}  // namespace
}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
#include "tokens/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokens/pattern_syntax.h"

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> find(std::string_view expression, std::string_view text) {
  const auto pattern = Pattern::compile(expression);
  if (!pattern) return {"not compiled: " + pattern.error().message};
  std::vector<Span> matches;
  const auto status = pattern->find_all(text, matches);
  if (!status) return {"not found: " + status.error().message};
  std::vector<std::string> texts;
  for (const Span& match : matches)
    texts.emplace_back(text.substr(match.begin, match.end - match.begin));
  return texts;
}

TEST(Pattern, white_space_is_what_oniguruma_and_not_what_pcre2_takes_for_it) {
  EXPECT_THAT(find(R"(\s)", "a\u180e\u0085\u3000b"), ElementsAre("\u0085", "\u3000"));
  EXPECT_THAT(find(R"(\S)", "\u180e "), ElementsAre("\u180e"));
  EXPECT_THAT(find(R"([^\s\p{L}]+)", "a\u180e\u0085."), ElementsAre("\u180e", "."));
}

TEST(Pattern, words_have_marks_and_connectors_in_them) {
  EXPECT_THAT(find(R"(\w+)", "e\u0301a\u203fb-c"), ElementsAre("e\u0301a\u203fb", "c"));
  EXPECT_THAT(find(R"([\w.]+)", "e\u0301.b-"), ElementsAre("e\u0301.b"));
}

TEST(Pattern, a_script_is_the_characters_own_and_not_an_extension) {
  EXPECT_THAT(find(R"(\p{Han}+)", "\u6f22\u3001\u5b57"), ElementsAre("\u6f22", "\u5b57"));
}

TEST(Pattern, case_is_ignored_in_a_group_that_says_so_alone) {
  EXPECT_THAT(find(R"((?i:'s|'t)|x)", "'S't'Xx"), ElementsAre("'S", "'t", "x"));
}

TEST(Pattern, an_empty_match_does_not_follow_another_directly) {
  EXPECT_THAT(find("x*", "axb"), ElementsAre("", "x", ""));
  EXPECT_THAT(find("x*", "\u00e9"), ElementsAre("", ""));
}

TEST(Pattern, a_fixed_text_stands_for_itself_and_an_empty_one_is_never_found) {
  std::vector<Span> matches;
  ASSERT_TRUE(Pattern::exactly("a.").find_all("a.ab a.", matches));
  EXPECT_EQ(matches.size(), 2U);
  ASSERT_TRUE(Pattern::exactly("").find_all("abc", matches));
  EXPECT_THAT(matches, IsEmpty());
}

TEST(Pattern, what_may_mean_something_else_in_pcre2_is_refused_and_named) {
  for (const std::string expression :
       {R"(\b)", R"(\h)", R"(\R)", R"(\1)", R"(\K)", "(?<name>a)", "a(?i)b", "(*UTF)", "[a&&b]",
        "[[:alpha:]]", R"([\S])", "a{1,2}+", "a{,2}", R"(\p{sc:Han})", "\\"}) {
    const auto translated = to_pcre2(expression);
    ASSERT_FALSE(translated) << expression;
    EXPECT_EQ(translated.error().code, Errc::unsupported);
    EXPECT_THAT(translated.error().message, HasSubstr("found \""));
  }
}

TEST(Pattern, what_is_no_expression_is_an_error_with_its_reason) {
  for (const std::string expression : {"(", "[a", "a**+", R"(\p{Nothing})", R"(\x{zz})"})
    EXPECT_FALSE(Pattern::compile(expression)) << expression;
  EXPECT_FALSE(Pattern::compile(std::string(100'000, 'a')));
}

TEST(Pattern, one_that_takes_too_long_ends_with_an_error) {
  EXPECT_THAT(find("(a+a+)+[xy]", std::string(5000, 'a')),
              ElementsAre(HasSubstr("expected the tokenizer's regular expression to be matched")));
}

TEST(Pattern, a_long_run_needs_no_more_memory_than_the_limit) {
  EXPECT_EQ(find(R"(\p{L}+|\s+(?!\S)|\s+)", std::string(1 << 20U, 'a')).size(), 1U);
  EXPECT_EQ(find(R"((?:ab)+)", std::string(1000, 'x')).size(), 0U);
}

}  // namespace
}  // namespace headroom::tokens

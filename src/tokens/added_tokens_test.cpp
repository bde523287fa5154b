// SPDX-License-Identifier: Apache-2.0
#include "tokens/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;

class AddedTokens : public ::testing::Test {
 protected:
  void add(const std::string& content, AddedToken flags = {}) {
    flags.id = next_id_++;
    flags.content = flags.found_as = content;
    finder_.add(flags);
  }
  // "0:<s>" for a token, "text" for text.
  std::vector<std::string> find(std::string_view text) const {
    std::vector<std::string> parts;
    for (const TextPart& part : finder_.find(text)) {
      const std::string inside(text.substr(part.span.begin, part.span.end - part.span.begin));
      parts.push_back(part.id < 0 ? inside : std::to_string(part.id) + ":" + inside);
    }
    return parts;
  }

 private:
  AddedTokenFinder finder_;
  Id next_id_ = 0;
};

TEST_F(AddedTokens, the_leftmost_counts_and_of_these_the_longest) {
  add("ab");
  add("abcd");
  add("bcdef");
  EXPECT_THAT(find("xabcdef"), ElementsAre("x", "1:abcd", "ef"));
  EXPECT_THAT(find("abce"), ElementsAre("0:ab", "ce"));
  EXPECT_THAT(find("bcdef"), ElementsAre("2:bcdef"));
  EXPECT_THAT(find(""), ElementsAre());
}

TEST_F(AddedTokens, white_space_beside_it_is_taken_in_if_it_strips) {
  add("<l>", {.strips_left = true});
  add("<r>", {.strips_right = true});
  EXPECT_THAT(find("a \n<l> <r>\u3000 b"), ElementsAre("a", "0: \n<l>", " ", "1:<r>\u3000 ", "b"));
}

TEST_F(AddedTokens, what_a_token_has_taken_in_another_does_not_take_again) {
  add("<r>", {.strips_right = true});
  add("<l>", {.strips_left = true});
  EXPECT_THAT(find("<r>  <l>"), ElementsAre("0:<r>  ", "1:<l>"));
}

TEST_F(AddedTokens, a_single_word_has_no_letter_digit_or_mark_beside_it) {
  add("day", {.single_word = true});
  EXPECT_THAT(find("day, monday day\u0301 day_ day"),
              ElementsAre("0:day", ", monday day\u0301 day_ ", "0:day"));
}

TEST_F(AddedTokens, of_two_that_are_found_as_the_same_the_first_is_found) {
  add("<s>");
  add("<s>");
  EXPECT_THAT(find("<s>"), ElementsAre("0:<s>"));
}

}  // namespace
}  // namespace headroom::tokens

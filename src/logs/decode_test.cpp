// SPDX-License-Identifier: Apache-2.0
#include "logs/decode.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom::logs {
namespace {

using namespace std::string_literals;

// In pieces of `size` bytes.
std::string decode(std::string_view bytes, std::size_t size) {
  Decoder decoder;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    text += decoder.decode(bytes.substr(at, size));
  }
  text += decoder.finish();
  return text;
}

void expect_decodes(std::string_view bytes, std::string_view text) {
  for (const std::size_t size : {1, 2, 3, 5, 7, 64, 100000}) {
    EXPECT_EQ(decode(bytes, size), text) << "in pieces of " << size;
  }
}

std::string to_utf16(std::u16string_view text, bool little) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xFFU), high = static_cast<char>(unit >> 8U);
    bytes += little ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

const std::u16string latin(u"HIP out of memory: could not get what was asked for\r\nKilled\r\n");

TEST(Decode, plain_text_is_untouched) {
  expect_decodes("[1.5] amdgpu: größer\r\nsecond\n", "[1.5] amdgpu: größer\r\nsecond\n");
  expect_decodes("", "");
  expect_decodes("a", "a");
}

TEST(Decode, utf16_is_told_by_its_mark) {
  const std::string text = "HIP out of memory: could not get what was asked for\r\nKilled\r\n";
  expect_decodes("\xFF\xFE" + to_utf16(latin, true), text);
  expect_decodes("\xFE\xFF" + to_utf16(latin, false), text);
  expect_decodes("\xFF\xFE" + to_utf16(u"a", true), "a");
}

TEST(Decode, utf16_is_told_without_its_mark) {
  const std::string text = "HIP out of memory: could not get what was asked for\r\nKilled\r\n";
  expect_decodes(to_utf16(latin, true), text);
  expect_decodes(to_utf16(latin, false), text);
}

TEST(Decode, surrogates_split_between_pieces_stay_one_character) {
  expect_decodes("\xFF\xFE" + to_utf16(u"a\U0001F525ä€b", true), "a\U0001F525ä€b");
  expect_decodes("\xFE\xFF" + to_utf16(u"a\U0001F525ä€b", false), "a\U0001F525ä€b");
}

TEST(Decode, half_a_pair_is_a_replacement_character) {
  const std::u16string broken = {u'a', 0xD83D, u'b', 0xDD25, u'c'};
  expect_decodes("\xFF\xFE" + to_utf16(broken, true),
                 "a\xEF\xBF\xBD"
                 "b\xEF\xBF\xBD"
                 "c");
}

TEST(Decode, mark_of_utf8_goes) {
  expect_decodes("\xEF\xBB\xBFHIP error", "HIP error");
}

TEST(Decode, rubbish_with_nuls_is_not_taken_for_utf16) {
  std::string rubbish;
  for (int i = 0; i < 200; ++i) rubbish += std::string(i % 3 == 0 ? "\0" : "x", 1);
  EXPECT_EQ(detect_encoding(rubbish), Encoding::utf8);
  EXPECT_EQ(detect_encoding(std::string(100, '\0')), Encoding::utf8);
  expect_decodes(std::string(1000, '\0') + "HIP error", "HIP error");
}

TEST(Decode, colours_go_also_within_words) {
  expect_decodes("\x1b[1;31mHIP\x1b[0m out of mem\x1b[38;5;9mory\x1b[m\n", "HIP out of memory\n");
  expect_decodes("\x1b[38:2::255:0:0mred\x1b[0m", "red");
  expect_decodes("\x1b[2K\x1b[1Gdone\x1b(B\x1b=\n", "done\n");
}

TEST(Decode, titles_and_links_go) {
  expect_decodes("\x1b]0;my title\aHIP", "HIP");
  expect_decodes("\x1b]8;;https://a.b/c\x1b\\link\x1b]8;;\x1b\\ end", "link end");
  expect_decodes("\x1bPq#0;2\x1b\\HIP\x1b_x\x1b\\ error", "HIP error");
}

TEST(Decode, sequence_without_an_end_ends_with_its_line) {
  expect_decodes("a\x1b]0;title\nHIP error\n", "a\nHIP error\n");
  expect_decodes("a\x1b[31\nHIP error\n", "a\nHIP error\n");
  expect_decodes("a\x1b", "a");
}

TEST(Decode, sequence_without_an_end_is_given_up) {
  EXPECT_TRUE(
      decode("\x1b]0;" + std::string(10000, 'x') + "HIP error", 100).ends_with("HIP error"));
}

TEST(Decode, letters_beyond_ascii_end_a_sequence) {
  expect_decodes("\x1b[3ä", "ä");
  expect_decodes("\x1bä", "ä");
}

TEST(Decode, nuls_go) {
  expect_decodes("HIP\0 out\0 of memory\n"s, "HIP out of memory\n");
}

TEST(Decode, backspaces_take_letters_back) {
  EXPECT_EQ(without_backspaces("Solving: -\b\\\b|\bdone"), "Solving: done");
  EXPECT_EQ(without_backspaces("\b\bxé\by"), "xy");
}

TEST(Decode, shown_text_is_valid_and_has_no_controls) {
  EXPECT_EQ(to_shown("a\tb\x07\x1b[1m\x7f\xC2\x9B"
                     "c",
                     100),
            "a\tb[1mc");
  EXPECT_EQ(to_shown("\xFF\xC0\x80\xED\xA0\x80x", 100),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx");
  EXPECT_EQ(to_shown("größe", 4), "grö");
  EXPECT_EQ(to_shown("größe", 3), "gr");
  EXPECT_EQ(to_shown("\xF0\x9F\x94", 100), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace headroom::logs

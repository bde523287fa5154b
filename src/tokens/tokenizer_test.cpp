// SPDX-License-Identifier: Apache-2.0
#include "tokens/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "base/json_text.h"

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json small() {
  return Json::parse(R"({
    "added_tokens": [{"id": 6, "content": "<s>", "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "unk_token": null, "fuse_unk": false, "byte_fallback": false,
              "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "?": 5},
              "merges": ["a b", "ab c"]}})");
}

Result<Tokenizer> parse(const Json& json) {
  return Tokenizer::parse(to_json_text(json), "t.json");
}

std::vector<Id> encode(const Json& json, std::string_view text, Around around = Around::nothing) {
  auto tokenizer = parse(json);
  std::vector<Id> ids;
  if (!tokenizer || !tokenizer->encode(text, around, ids))
    ADD_FAILURE() << (tokenizer ? "not encoded" : tokenizer.error().message);
  return ids;
}

TEST(Tokenizer, merges_are_read_in_both_forms) {
  EXPECT_THAT(encode(small(), "abcab"), ElementsAre(4, 3));
  Json pairs = small();
  pairs["model"]["merges"] = Json::parse(R"([["a", "b"], ["ab", "c"]])");
  EXPECT_THAT(encode(pairs, "abcab"), ElementsAre(4, 3));
  Json old = small();
  old["model"].erase("type");
  old["model"]["merges"] = {"#version: 0.2", "a b"};
  EXPECT_THAT(encode(old, "abc"), ElementsAre(3, 2));
}

TEST(Tokenizer, a_word_that_is_a_token_is_that_token_if_merges_are_ignored) {
  Json json = small();
  json["model"]["merges"] = {"a b"};
  EXPECT_THAT(encode(json, "abc"), ElementsAre(3, 2));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(encode(json, "abc"), ElementsAre(4));
}

TEST(Tokenizer, unknown_characters_are_left_out_unknown_tokens_or_bytes) {
  EXPECT_THAT(encode(small(), "axyb"), ElementsAre(3));  // Which a and b then become.
  Json unknown = small();
  unknown["model"]["unk_token"] = "?";
  EXPECT_THAT(encode(unknown, "axyb"), ElementsAre(0, 5, 5, 1));
  unknown["model"]["fuse_unk"] = true;
  EXPECT_THAT(encode(unknown, "axyb"), ElementsAre(0, 5, 1));
  Json bytes = unknown;
  bytes["added_tokens"] = Json::array();
  bytes["model"]["byte_fallback"] = true;
  bytes["model"]["vocab"]["<0xC3>"] = 6;
  bytes["model"]["vocab"]["<0xA9>"] = 7;
  EXPECT_THAT(encode(bytes, "a\u00e9\u00e8"), ElementsAre(0, 6, 7, 5));
}

TEST(Tokenizer, long_words_are_cut_only_where_no_merge_crosses) {
  std::string text;
  std::vector<Id> expected;
  for (int i = 0; i < 2000; ++i) {
    text += i % 3 == 0 ? "abc" : i % 3 == 1 ? "ca" : "\u00e9";
    // "abc" "ca" "é": a at the end of "ca" has no b behind it.
    if (i % 3 == 0) expected.push_back(4);
    if (i % 3 == 1) expected.insert(expected.end(), {2, 0});
    if (i % 3 == 2) expected.push_back(5);
  }
  Json json = small();
  json["model"]["unk_token"] = "?";
  EXPECT_EQ(encode(json, text), expected);
  json["model"]["vocab"]["\u00e9"] = 7;
  json["added_tokens"] = Json::array();
  for (Id& id : expected) id = id == 5 ? 7 : id;
  EXPECT_EQ(encode(json, text), expected);
}

TEST(Tokenizer, the_template_puts_its_tokens_around_a_text_if_asked) {
  Json json = small();
  json["post_processor"] = Json::parse(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]}}})");
  EXPECT_THAT(encode(json, "ab", Around::special_tokens), ElementsAre(6, 3));
  EXPECT_THAT(encode(json, "ab"), ElementsAre(3));
}

TEST(Tokenizer, special_tokens_are_found_in_text_and_left_out_of_it_when_decoded) {
  EXPECT_THAT(encode(small(), "ab<s>c"), ElementsAre(3, 6, 2));
  const auto tokenizer = parse(small());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(*tokenizer->decode({3, 6, 2, 99}, true), "abc");
  EXPECT_EQ(*tokenizer->decode({3, 6, 2}, false), "ab<s>c");
  EXPECT_EQ(tokenizer->find_added("<s>"), 6);
  EXPECT_EQ(tokenizer->find_added("ab"), std::nullopt);
  EXPECT_EQ(tokenizer->find("ab"), 3);
  EXPECT_EQ(tokenizer->end(), 7U);
}

TEST(Tokenizer, text_that_is_no_utf8_is_refused) {
  auto tokenizer = parse(small());
  ASSERT_TRUE(tokenizer);
  std::vector<Id> ids;
  for (const std::string_view text : {"a\xff", "\xc3", "\xed\xa0\x80"})
    EXPECT_FALSE(tokenizer->encode(text, Around::nothing, ids)) << text;
}

// The message for a tokenizer with `value` at `pointer`.
std::string complaint(const std::string& pointer, const Json& value) {
  Json json = small();
  json[Json::json_pointer(pointer)] = value;
  const auto tokenizer = parse(json);
  if (tokenizer) return "";
  EXPECT_FALSE(tokenizer.error().next.empty()) << tokenizer.error().message;
  return tokenizer.error().message;
}

TEST(Tokenizer, what_is_not_known_is_refused_by_its_name_and_place) {
  EXPECT_THAT(complaint("/normalizer", {{"type", "BertNormalizer"}}),
              HasSubstr("/normalizer/type: expected a normalizer that headroom-train knows"));
  EXPECT_THAT(complaint("/normalizer", {{"type", "BertNormalizer"}}),
              HasSubstr("found \"BertNormalizer\""));
  EXPECT_THAT(complaint("/pre_tokenizer", {{"type", "UnicodeScripts"}}),
              HasSubstr("found \"UnicodeScripts\""));
  EXPECT_THAT(complaint("/decoder", {{"type", "WordPiece"}}), HasSubstr("found \"WordPiece\""));
  EXPECT_THAT(complaint("/post_processor", {{"type", "BertProcessing"}}),
              HasSubstr("found \"BertProcessing\""));
  EXPECT_THAT(complaint("/model/type", "Unigram"), HasSubstr("found \"Unigram\""));
  EXPECT_THAT(complaint("/model/dropout", 0.1), HasSubstr("/model/dropout: expected nothing"));
  EXPECT_THAT(complaint("/model/end_of_word_suffix", "</w>"), HasSubstr("</w>"));
  EXPECT_THAT(complaint("/pre_tokenizer", {{"type", "Split"},
                                           {"pattern", {{"Regex", "\\b"}}},
                                           {"behavior", "Isolated"},
                                           {"invert", false}}),
              HasSubstr("/pre_tokenizer/pattern/Regex: expected a regular expression"));
}

TEST(Tokenizer, a_damaged_one_says_where_it_is_damaged) {
  EXPECT_THAT(complaint("/model/vocab/a", -1),
              HasSubstr("expected an id below 16777216 for \"a\""));
  EXPECT_THAT(complaint("/model/vocab/a", 1e9), HasSubstr("for \"a\""));
  EXPECT_THAT(complaint("/model/vocab", Json::array()), HasSubstr("/model/vocab"));
  EXPECT_THAT(complaint("/model/merges/1", "a z"), HasSubstr("found \"a\" and \"z\" as number 2"));
  EXPECT_THAT(complaint("/model/merges/1", 7), HasSubstr("as number 2"));
  EXPECT_THAT(complaint("/added_tokens/0/id", 9), HasSubstr("/added_tokens/0/id: expected 6"));
  EXPECT_THAT(complaint("/model", nullptr), HasSubstr("/model"));
  EXPECT_FALSE(Tokenizer::parse("[]", "t.json"));
  EXPECT_FALSE(Tokenizer::parse("{", "t.json"));
  EXPECT_THAT(Tokenizer::parse("{", "t.json").error().message, HasSubstr("t.json: not valid JSON"));
}

TEST(Tokenizer, sequences_within_sequences_end_at_a_limit) {
  for (const auto& [key, list] : {std::pair{"normalizer", "normalizers"},
                                  {"pre_tokenizer", "pretokenizers"},
                                  {"post_processor", "processors"},
                                  {"decoder", "decoders"}}) {
    Json part = {{"type", "Sequence"}, {list, Json::array()}};
    for (int i = 0; i < 20; ++i) part = {{"type", "Sequence"}, {list, {part}}};
    EXPECT_THAT(complaint(std::string("/") + key, part), HasSubstr("sequences within each other"));
  }
}

TEST(Tokenizer, a_text_that_grows_beyond_reason_is_refused) {
  Json json = small();
  Json grow = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(50, 'a')}};
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 8; ++i) json["normalizer"]["normalizers"].push_back(grow);
  auto tokenizer = parse(json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::vector<Id> ids;
  const auto status = tokenizer->encode("aaaaaaaaaa", Around::nothing, ids);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("after normalisation"));
}

}  // namespace
}  // namespace headroom::tokens

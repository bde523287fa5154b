// SPDX-License-Identifier: Apache-2.0
// Normalisers, pre-tokenisers and decoders, each by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/document.h"
#include "tokens/byte_level.h"
#include "tokens/characters.h"
#include "tokens/decoder.h"
#include "tokens/normalizer.h"
#include "tokens/pre_tokenizer.h"

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;

std::string normalise(const char* normalizer, std::string text) {
  const Json json = {{"part", Json::parse(normalizer)}};
  DocumentReader reader(json);
  TableReader root = reader.root();
  const auto part = read_normalizer(root, "part");
  EXPECT_TRUE(reader.finish()) << reader.finish().error().message;
  EXPECT_TRUE(part->apply(text));
  return text;
}

TEST(Normalizers, each_does_what_its_name_says) {
  EXPECT_EQ(normalise(R"({"type": "NFC"})", "e\u0301 \ufb01"), "\u00e9 \ufb01");
  EXPECT_EQ(normalise(R"({"type": "NFD"})", "\u00e9"), "e\u0301");
  EXPECT_EQ(normalise(R"({"type": "NFKC"})", "\ufb01e\u0301"), "fi\u00e9");
  EXPECT_EQ(normalise(R"({"type": "NFKD"})", "\ufb01\u00e9"), "fie\u0301");
  EXPECT_EQ(normalise(R"({"type": "Lowercase"})", "\u00c9\u0130A\u00df"), "\u00e9i\u0307a\u00df");
  EXPECT_EQ(normalise(R"({"type": "Prepend", "prepend": "_"})", "a"), "_a");
  EXPECT_EQ(normalise(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(normalise(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a "),
            "a ");
  EXPECT_EQ(normalise(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \u3000"),
            "");
  EXPECT_EQ(
      normalise(R"({"type": "Replace", "pattern": {"Regex": " +"}, "content": "_"})", "a   b "),
      "a_b_");
  EXPECT_EQ(normalise(R"({"type": "Sequence", "normalizers": [{"type": "Lowercase"},
                          {"type": "Replace", "pattern": {"String": "."}, "content": ""}]})",
                      "A.B"),
            "ab");
}

std::vector<std::string> cut(const char* pre_tokenizer, const std::string& text,
                             bool at_start = true) {
  const Json json = {{"part", Json::parse(pre_tokenizer)}};
  DocumentReader reader(json);
  TableReader root = reader.root();
  const auto part = read_pre_tokenizer(root, "part");
  EXPECT_TRUE(reader.finish()) << reader.finish().error().message;
  Pieces pieces{text, {{0, text.size()}}, at_start};
  EXPECT_TRUE(part->apply(pieces));
  std::vector<std::string> words;
  for (const Span& span : pieces.spans) words.emplace_back(pieces.at(span));
  return words;
}

TEST(PreTokenizers, byte_level_writes_every_byte_as_a_character) {
  EXPECT_THAT(cut(R"({"type": "ByteLevel", "add_prefix_space": false})", "it's \u00e9"),
              ElementsAre("it", "'s", "\u0120\u00c3\u00a9"));
  EXPECT_THAT(cut(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})", "a b"),
              ElementsAre("\u0120a\u0120b"));
}

TEST(PreTokenizers, metaspace_prepends_always_never_or_at_the_start_of_the_text) {
  EXPECT_THAT(cut(R"({"type": "Metaspace", "replacement": "_"})", "a b", false),
              ElementsAre("_a", "_b"));
  EXPECT_THAT(cut(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"})", "a b"),
              ElementsAre("_a", "_b"));
  EXPECT_THAT(
      cut(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"})", "a b", false),
      ElementsAre("a", "_b"));
  EXPECT_THAT(cut(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false,
                      "split": false})",
                  "a b"),
              ElementsAre("a_b"));
  EXPECT_THAT(cut(R"({"type": "Metaspace", "replacement": "_"})", " a"), ElementsAre("_a"));
}

TEST(PreTokenizers, digits_and_punctuation_are_unicodes) {
  EXPECT_THAT(cut(R"({"type": "Digits", "individual_digits": true})", "a1\u0662\u00bd"),
              ElementsAre("a", "1", "\u0662", "\u00bd"));
  EXPECT_THAT(cut(R"({"type": "Digits", "individual_digits": false})", "a12b"),
              ElementsAre("a", "12", "b"));
  EXPECT_THAT(cut(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a.\u3002b$"),
              ElementsAre("a", ".\u3002", "b", "$"));
  EXPECT_THAT(cut(R"({"type": "WhitespaceSplit"})", " a\u3000b "), ElementsAre("a", "b"));
}

TEST(PreTokenizers, a_split_may_be_inverted) {
  EXPECT_THAT(cut(R"({"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Removed",
                      "invert": true})",
                  "ab1cd"),
              ElementsAre("ab", "cd"));
}

std::string decode(const char* decoder, std::vector<std::string> texts) {
  const Json json = {{"part", Json::parse(decoder)}};
  DocumentReader reader(json);
  TableReader root = reader.root();
  const auto part = read_decoder(root, "part");
  EXPECT_TRUE(reader.finish()) << reader.finish().error().message;
  EXPECT_TRUE(part->apply(texts));
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

TEST(Decoders, bytes_become_text_where_they_are_some) {
  EXPECT_EQ(decode(R"({"type": "ByteFallback"})", {"a", "<0xC3>", "<0xA9>", "b", "<0xC3>", "c"}),
            "a\u00e9b\ufffdc");
  EXPECT_EQ(decode(R"({"type": "ByteFallback"})", {"<0xZZ>"}), "<0xZZ>");
  EXPECT_EQ(decode(R"({"type": "ByteLevel"})", {"\u0120\u00c3", "\u00a9", "<\u65e5>"}),
            " \u00e9<\u65e5>");
}

TEST(Decoders, spaces_come_back) {
  EXPECT_EQ(decode(R"({"type": "Metaspace", "replacement": "_"})", {"_a", "_b"}), "a b");
  EXPECT_EQ(decode(R"({"type": "Sequence", "decoders": [
                       {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
                       {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                   {"_a", "_b"}),
            "a b");
}

RC_GTEST_PROP(ByteLevel, every_byte_has_a_character_that_is_read_back, (const std::string& bytes)) {
  std::string text, back;
  append_byte_level(bytes, text);
  for (std::size_t at = 0; at < text.size();)
    back += static_cast<char>(from_byte_level(take_character(text, at)).value());
  RC_ASSERT(back == bytes);
}

}  // namespace
}  // namespace headroom::tokens

// SPDX-License-Identifier: Apache-2.0
#include "tokens/sample_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Id end = 256;

// Bytes as letters, | for the end of a text, what is only read in brackets.
std::string shown(const std::vector<Id>& tokens) {
  std::string text;
  for (const Id token : tokens) {
    const std::string letter(1, id_of(token) == end ? '|' : static_cast<char>(id_of(token)));
    text += is_learned(token) ? letter : "[" + letter + "]";
  }
  return text;
}

struct Read {
  std::vector<std::string> samples;
  std::string message, next;
  SampleCounts counts;
};

enum class Kind { text, records };

Read read(Kind kind, const std::string& text, SampleLimits limits) {
  ByteEncoder encoder(end);
  SampleReader reader(encoder, ChatTemplate::plain, limits);
  TokenSamples samples;
  const MemoryBytes bytes(text);
  const auto status = kind == Kind::text ? reader.add_text(bytes, "f", samples)
                                         : reader.add_records(bytes, "f", samples);
  Read result;
  for (const auto& sample : samples) {
    EXPECT_LE(sample.size(), limits.longest);
    EXPECT_GE(sample.size(), 2U);
    result.samples.push_back(shown(sample));
  }
  if (!status) {
    result.message = status.error().message;
    result.next = status.error().next;
  }
  result.counts = reader.counts();
  return result;
}

TEST(SampleReader, paragraphs_are_packed_while_they_fit_and_cut_where_they_do_not) {
  EXPECT_THAT(read(Kind::text, "one\ntwo\n\n \nsix\n\nfive", {13, 257}).samples,
              ElementsAre("one\ntwo\n\nsix|", "five|"));
  EXPECT_THAT(read(Kind::text, "abcdefghij\n\nk", {4, 257}).samples,
              ElementsAre("abcd", "efgh", "ij|", "k|"));
  EXPECT_THAT(read(Kind::text, "abcd", {4, 257}).samples, ElementsAre("abcd"));
  EXPECT_THAT(read(Kind::text, "\n \n", {4, 257}).samples, IsEmpty());
}

TEST(SampleReader, each_line_is_a_sample_and_a_long_text_several) {
  EXPECT_THAT(
      read(Kind::records, "{\"text\": \"ab\"}\n\n{\"text\": \"cdefg\"}\n", {4, 257}).samples,
      ElementsAre("ab|", "cdef", "g|"));
  EXPECT_THAT(read(Kind::records, R"({"text": ""})", {4, 257}).samples, IsEmpty());
}

TEST(SampleReader, what_is_left_of_a_completion_without_targets_is_counted_and_left_out) {
  const Read result = read(Kind::records,
                           "{\"prompt\": \"ab\", \"completion\": \"c\"}\n"
                           "{\"prompt\": \"ab\", \"completion\": \"cdef\"}\n"
                           "{\"prompt\": \"abcdefg\", \"completion\": \"h\"}\n"
                           "{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}\n",
                           {5, 257});
  EXPECT_THAT(result.samples, ElementsAre("[a][b]c|", "[a][b]cde"));
  EXPECT_EQ(result.counts.shortened, 3U);
  EXPECT_EQ(result.counts.without_targets, 2U);
}

TEST(SampleReader, what_is_wrong_is_told_with_its_file_and_line) {
  const Read bad = read(Kind::records, "{\"text\": \"a\"}\n\n{\"text\": 1}\n", {4, 257});
  EXPECT_THAT(bad.message, HasSubstr("f, line 3: /text: expected"));
  EXPECT_FALSE(bad.next.empty());
  const Read beyond = read(Kind::records, "{\"text\": \"az\"}\n", {4, 122});
  EXPECT_THAT(beyond.message, HasSubstr("f, line 1: expected tokens with ids below 122"));
  EXPECT_THAT(beyond.message, HasSubstr("found 122, which is \"the byte 0x7A\""));
  EXPECT_THAT(read(Kind::text, "a\n\na\nz\n", {4, 122}).message, HasSubstr("f, line 3: "));
}

TEST(SampleReader, tokens_that_begin_a_text_begin_every_sample_of_it) {
  auto tokenizer = Tokenizer::parse(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "\n": 1, "<s>": 2}, "merges": []},
          "added_tokens": [{"id": 2, "content": "<s>", "special": true}],
          "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}},
                       {"SpecialToken": {"id": "<s>"}}],
            "special_tokens": {"<s>": {"ids": [2]}}}})",
      "t");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  TokenEncoder encoder(*std::move(tokenizer), std::nullopt);
  SampleReader reader(encoder, ChatTemplate::plain, {6, 3});
  TokenSamples samples;
  ASSERT_TRUE(reader.add_text(MemoryBytes("a\n\naa\n\naa"), "f", samples));
  EXPECT_THAT(samples, ElementsAre(ElementsAre(2, 0, 1, 1, 0, 0), ElementsAre(2, 0, 0)));
}

TEST(SampleReader, text_that_is_no_utf8_is_told_with_its_file_and_line) {
  auto tokenizer =
      Tokenizer::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})", "t");
  ASSERT_TRUE(tokenizer);
  TokenEncoder encoder(*std::move(tokenizer), std::nullopt);
  SampleReader reader(encoder, ChatTemplate::plain, {6, 3});
  TokenSamples samples;
  const auto status = reader.add_text(MemoryBytes("a\n\n\xff"), "f", samples);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("f, line 3: expected text in UTF-8"));
}

}  // namespace
}  // namespace headroom::tokens

// SPDX-License-Identifier: Apache-2.0
#include "tokens/token_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokens/testing/token_bytes.h"

namespace headroom::tokens {
namespace {

using ::testing::HasSubstr;
using testing::llm_c_bytes;
using testing::token_bytes;
using Source = TokenLayout::Source;

constexpr std::uint64_t gpt2_vocabulary = 50257;
constexpr std::uint64_t llama3_vocabulary = 128256;

Result<TokenLayout> read(const std::string& bytes, BinHints hints = {{}, gpt2_vocabulary}) {
  return read_bin_layout(MemoryBytes(bytes), hints);
}

std::string refusal(const std::string& bytes, BinHints hints = {{}, gpt2_vocabulary}) {
  const auto layout = read(bytes, hints);
  if (layout) return "";
  EXPECT_FALSE(layout.error().next.empty()) << layout.error().message;
  return layout.error().message;
}

TEST(BinLayout, without_a_header_the_job_or_the_vocabulary_tells_the_type) {
  const std::string bytes = token_bytes({1, 2, 3, 4, 5, 6}, 2);
  const auto by_vocabulary = read(bytes);
  ASSERT_TRUE(by_vocabulary);
  EXPECT_EQ(by_vocabulary->type, TokenType::uint16);
  EXPECT_EQ(by_vocabulary->source, Source::vocabulary);
  EXPECT_EQ(by_vocabulary->count, 6U);
  EXPECT_EQ(by_vocabulary->offset, 0U);
  EXPECT_EQ(by_vocabulary->columns, 0U);
  EXPECT_EQ(read(bytes, {{}, 65536})->type, TokenType::uint16);
  EXPECT_EQ(read(bytes, {{}, 65537})->type, TokenType::uint32);
  const auto by_job = read(bytes, {TokenType::uint32, gpt2_vocabulary});
  EXPECT_EQ(by_job->type, TokenType::uint32);
  EXPECT_EQ(by_job->source, Source::job);
  EXPECT_EQ(by_job->count, 3U);
}

TEST(BinLayout, llm_c_headers_are_recognised) {
  const auto gpt2 = read(llm_c_bytes(20240520, 1, 3, token_bytes({7, 8, 9}, 2)));
  ASSERT_TRUE(gpt2) << gpt2.error().message;
  EXPECT_EQ(gpt2->type, TokenType::uint16);
  EXPECT_EQ(gpt2->offset, 1024U);
  EXPECT_EQ(gpt2->count, 3U);
  EXPECT_EQ(gpt2->source, Source::file);
  const auto llama = read(llm_c_bytes(20240801, 7, 2, token_bytes({7, 8}, 4)));
  ASSERT_TRUE(llama) << llama.error().message;
  EXPECT_EQ(llama->type, TokenType::uint32);
  EXPECT_EQ(llama->count, 2U);
}

TEST(BinLayout, a_header_that_lies_is_refused) {
  const std::string three = token_bytes({7, 8, 9}, 2);
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, 4, three)),
              HasSubstr("expected 4 tokens of 2 bytes, as llm.c's header says, found 6 bytes"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, 2, three)), HasSubstr("expected 2 tokens"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, 3, three + "x")), HasSubstr("found 7 bytes"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, -1, three)), HasSubstr("expected -1 tokens"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, 0x7fffffff, three)), HasSubstr("2147483647"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 2, 3, three)), HasSubstr("version 1"));
  EXPECT_THAT(refusal(llm_c_bytes(20240520, 1, 3, three).substr(0, 700)),
              HasSubstr("the end of the file after 700"));
  EXPECT_THAT(refusal(llm_c_bytes(20240801, 7, 1, token_bytes({1}, 4)),
                      {TokenType::uint16, llama3_vocabulary}),
              HasSubstr("data.dtype: expected \"uint32\", as llm.c's header says"));
}

TEST(BinLayout, bytes_that_are_no_whole_tokens_are_refused) {
  EXPECT_THAT(refusal("abc"), HasSubstr("found 3 bytes, 1 too many"));
  EXPECT_THAT(refusal("abcdef", {{}, llama3_vocabulary}), HasSubstr("found 6 bytes, 2 too many"));
  EXPECT_EQ(read("")->count, 0U);
}

TEST(BinLayout, zero_in_every_second_place_looks_like_wider_tokens) {
  TokenLayout layout = *read(token_bytes(testing::counted_tokens(16, 9), 2));
  EXPECT_TRUE(looks_wider(layout, 0));
  EXPECT_FALSE(looks_wider(layout, 1));
  layout.count = 15;
  EXPECT_FALSE(looks_wider(layout, 0));
  layout.count = 16;
  layout.source = Source::job;
  EXPECT_FALSE(looks_wider(layout, 0));
}

TEST(DecodeTokens, every_type_gives_its_ids_and_the_first_misfit) {
  for (const auto& [type, size] : {std::pair{TokenType::uint16, 2},
                                   {TokenType::uint32, 4},
                                   {TokenType::int32, 4},
                                   {TokenType::int64, 8}}) {
    std::vector<Id> ids(4);
    EXPECT_FALSE(decode_tokens(type, token_bytes({0, 300, 7, 999}, size), 1000, ids));
    EXPECT_EQ(ids, (std::vector<Id>{0, 300, 7, 999}));
    const auto misfit = decode_tokens(type, token_bytes({0, 1000, 7, 1001}, size), 1000, ids);
    ASSERT_TRUE(misfit);
    EXPECT_EQ(misfit->place, 1U);
    EXPECT_EQ(misfit->value, 1000);
  }
}

TEST(DecodeTokens, what_no_id_can_be_is_told_as_it_stands) {
  std::vector<Id> ids(1);
  const auto value = [&](TokenType type, std::int64_t token, int size) {
    return decode_tokens(type, token_bytes({token}, size), gpt2_vocabulary, ids)->value;
  };
  EXPECT_EQ(value(TokenType::int32, -100, 4), -100);
  EXPECT_EQ(value(TokenType::uint32, -1, 4), 4294967295);
  EXPECT_EQ(value(TokenType::int64, -1, 8), -1);
  // Its lower half alone would be an id.
  EXPECT_EQ(value(TokenType::int64, (std::int64_t{1} << 32U) + 5, 8), 4294967301);
  EXPECT_EQ(value(TokenType::int32, 50257, 4), 50257);
}

}  // namespace
}  // namespace headroom::tokens

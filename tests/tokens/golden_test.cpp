// SPDX-License-Identifier: Apache-2.0
// Small tokenizers of every kind and what Hugging Face's tokenizers make of texts with them, as
// tools/tokens.py wrote them down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/document.h"
#include "tokens/tokenizer.h"

namespace headroom::tokens {
namespace {

std::string folder() {
  return HEADROOM_SOURCE_DIR "/tests/tokens/golden/";
}

std::string read(const std::string& name) {
  std::ifstream in(folder() + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, ids_and_the_text_that_they_stand_for_are_those_of_hugging_faces_tokenizers) {
  const std::string kind = GetParam();
  auto tokenizer = Tokenizer::parse(read(kind + ".json"), kind);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::ifstream lines(folder() + kind + ".golden.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json golden = Json::parse(line);
    const auto input = golden["input"].get<std::string>();
    std::vector<Id> ids, plain;
    ASSERT_TRUE(tokenizer->encode(input, Around::special_tokens, ids));
    ASSERT_TRUE(tokenizer->encode(input, Around::nothing, plain));
    EXPECT_EQ(ids, golden["ids"].get<std::vector<Id>>()) << line;
    EXPECT_EQ(plain, golden["plain"].get<std::vector<Id>>()) << line;
    if (golden["text"].is_null()) continue;  // It was cut within a character.
    EXPECT_EQ(*tokenizer->decode(ids, true), golden["text"].get<std::string>()) << line;
  }
  EXPECT_GE(count, 50U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Golden,
                         ::testing::Values("gpt2", "llama3", "qwen2", "o200k", "falcon", "deepseek",
                                           "llama2", "mistral", "gemma", "metaspace", "unknown"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Golden, byte_level_tokens_stand_for_any_text_itself) {
  for (const std::string kind : {"gpt2", "llama3", "o200k", "falcon", "deepseek"}) {
    auto tokenizer = Tokenizer::parse(read(kind + ".json"), kind);
    ASSERT_TRUE(tokenizer);
    for (const std::string text :
         {"", " ", "\n\n  \t", "e\u0301\u00e9 \U0001f469\u200d\U0001f467", "\x01\x7f", "123 12345",
          "\u0120 \u2581", "a\u180e \u3000b", "'S 'll \u0130"}) {
      std::vector<Id> ids;
      ASSERT_TRUE(tokenizer->encode(text, Around::nothing, ids));
      EXPECT_EQ(*tokenizer->decode(ids, false), text) << kind;
    }
  }
}

}  // namespace
}  // namespace headroom::tokens

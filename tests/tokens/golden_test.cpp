// SPDX-License-Identifier: Apache-2.0
// Small tokenizers of every kind and what Hugging Face's tokenizers make of texts with them, as
// tools/tokens.py wrote them down; and models of SentencePiece with what its library and
// transformers make of texts, as tools/pieces.py did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/document.h"
#include "tokens/example.h"
#include "tokens/sentencepiece/piece_encoder.h"

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

class PieceGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(PieceGolden, ids_are_those_of_the_library_and_of_transformers) {
  const std::string kind = GetParam();
  SettingsFiles files;
  const Json texts = Json::parse(read(kind + ".files.json"));
  for (std::size_t i = 0; i < files.texts.size(); ++i)
    if (!texts[i].empty()) files.texts[i] = texts[i].dump();
  auto encoder = PieceEncoder::make(read(kind + ".model"), kind, files, std::nullopt);
  ASSERT_TRUE(encoder) << encoder.error().message;
  std::ifstream lines(folder() + kind + ".golden.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json golden = Json::parse(line);
    const bool is_plain = golden.contains("plain");
    std::vector<Id> ids;
    ASSERT_TRUE(encoder->encode(golden["input"].get<std::string>(),
                                is_plain ? Around::nothing : Around::special_tokens, ids));
    EXPECT_EQ(ids, golden[is_plain ? "plain" : "ids"].get<std::vector<Id>>()) << line;
  }
  EXPECT_GE(count, 40U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PieceGolden,
                         ::testing::Values("pieces/llama", "pieces/mistral", "pieces/old",
                                           "pieces/gemma", "pieces/t5", "pieces/unigram",
                                           "pieces/nfkc"),
                         [](const auto& test) {
                           return std::string(test.param).substr(std::string("pieces/").size());
                         });

// Exchanges are encoded one by one, and are as one text all the same: a special token ends each.
TEST(Golden, the_tokens_of_a_conversation_are_those_of_its_whole_text) {
  for (const auto& [kind, chat_template] : {std::pair{"qwen2", ChatTemplate::chatml},
                                            {"llama3", ChatTemplate::llama3},
                                            {"gemma", ChatTemplate::gemma},
                                            {"mistral", ChatTemplate::mistral}}) {
    auto tokenizer = Tokenizer::parse(read(std::string(kind) + ".json"), kind);
    ASSERT_TRUE(tokenizer);
    TokenEncoder encoder(*std::move(tokenizer), std::nullopt);
    EXPECT_EQ(recognise_template(encoder), chat_template);
    Record record{.kind = Record::Kind::conversation, .text = {}, .completion = {}, .messages = {}};
    for (const std::string content : {"be brief", "\n\nwhat?", " \n1+1 is 2",
                                      "a <|im_start|> [INST] b", "\u0301e\u0301", "  ", "x"})
      record.messages.push_back({record.messages.size() % 2 == 0 ? Role::user : Role::assistant,
                                 content, record.messages.size() % 2 == 1});
    const auto tokens = make_example(record, chat_template, encoder);
    ASSERT_TRUE(tokens);
    std::string whole;
    for (const Exchange& exchange : render(record.messages, chat_template, encoder))
      whole += exchange.prompt + exchange.answer;
    std::vector<Id> expected, found;
    ASSERT_TRUE(encoder.encode(whole, Around::nothing, expected));
    for (const Id token : *tokens) found.push_back(id_of(token));
    EXPECT_EQ(found, expected) << kind << ": " << whole;
  }
}

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

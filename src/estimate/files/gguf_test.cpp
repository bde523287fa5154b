// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/document.h"
#include "estimate/files/gguf_config.h"
#include "estimate/files/gguf_header.h"
#include "estimate/files/gguf_types.h"
#include "estimate/files/testing/gguf_bytes.h"

namespace headroom::estimate {
namespace {

using ::testing::ElementsAre;
using testing::GgufBytes;
using ::testing::HasSubstr;
using testing::tiny_llama;

Result<GgufHeader> read(const std::string& bytes) {
  return read_gguf_header(MemoryBytes(bytes));
}

std::string error_of(const std::string& bytes) {
  const auto header = read(bytes);
  if (header) return "";
  EXPECT_FALSE(header.error().next.empty()) << header.error().message;
  return header.error().message;
}

TEST(Gguf, tensors_have_exact_bytes_by_their_blocks) {
  const auto header = read(tiny_llama().file());
  ASSERT_TRUE(header) << header.error().message;
  const StoredTensor* embedding = header->weights.find("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_THAT(embedding->shape, ElementsAre(96, 256));
  EXPECT_EQ(embedding->type, "Q6_K");
  EXPECT_EQ(embedding->bytes, 96U * 210);
  EXPECT_EQ(header->weights.bytes, 96U * 210 + 1024 + 256 * 144 + 512);
  EXPECT_EQ(loaded_as(*embedding, WeightFileFormat::gguf, DType::fp32).bytes(), 96U * 210);
}

TEST(Gguf, both_versions_and_byte_orders_say_the_same) {
  const auto expected = read(tiny_llama().file());
  ASSERT_TRUE(expected);
  for (const GgufBytes& bytes : {tiny_llama(2), tiny_llama(3, true)}) {
    const auto header = read(bytes.file());
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->weights.bytes, expected->weights.bytes);
    EXPECT_EQ(*to_config(*header), *to_config(*expected));
  }
}

// The sizes of blocks as ggml-common.h asserts them.
TEST(Gguf, block_sizes_are_those_of_ggml) {
  const std::vector<std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t>> expected =
      {{8, "Q8_0", 32, 34},    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},
       {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176},   {14, "Q6_K", 256, 210},
       {15, "Q8_K", 256, 292}, {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
       {19, "IQ1_S", 256, 50}, {18, "IQ3_XXS", 256, 98}, {21, "IQ3_S", 256, 110},
       {22, "IQ2_S", 256, 82}, {23, "IQ4_XS", 256, 136}, {29, "IQ1_M", 256, 56},
       {9, "Q8_1", 32, 36},    {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},
       {39, "MXFP4", 32, 17},  {40, "NVFP4", 64, 36}};
  for (const auto& [id, name, elements, bytes] : expected) {
    const GgmlType* type = find_ggml_type(id);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(type->name, name);
    EXPECT_EQ(type->block_elements, elements) << name;
    EXPECT_EQ(type->block_bytes, bytes) << name;
  }
  for (const std::uint64_t removed : {4, 5, 31, 36}) EXPECT_EQ(find_ggml_type(removed), nullptr);
}

TEST(Gguf, a_header_becomes_the_models_config) {
  const auto config = to_config(*read(tiny_llama().file()));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["model_type"], "llama");
  EXPECT_EQ((*config)["num_hidden_layers"], 2);
  EXPECT_EQ((*config)["hidden_size"], 256);
  EXPECT_EQ((*config)["intermediate_size"], 512);
  EXPECT_EQ((*config)["num_attention_heads"], 4);
  EXPECT_EQ((*config)["num_key_value_heads"], 2);
  EXPECT_EQ((*config)["vocab_size"], 96);
  EXPECT_EQ((*config)["max_position_embeddings"], 2048);
  EXPECT_EQ((*config)["tie_word_embeddings"], true);  // There is no output.weight.
  EXPECT_EQ((*config)["attention_bias"], true);
  EXPECT_NEAR((*config)["rms_norm_eps"].get<double>(), 1e-5, 1e-9);
}

TEST(Gguf, per_layer_numbers_and_experts_are_understood) {
  GgufBytes bytes;
  bytes.text("general.architecture", "qwen3moe")
      .u32("qwen3moe.block_count", 3)
      .u32("qwen3moe.embedding_length", 64)
      .u32s("qwen3moe.feed_forward_length", {96, 128, 64})
      .u32("qwen3moe.attention.head_count", 4)
      .u32("qwen3moe.attention.key_length", 32)
      .u32("qwen3moe.rope.dimension_count", 16)
      .u32("qwen3moe.expert_count", 8)
      .u32("qwen3moe.expert_used_count", 2)
      .texts("tokenizer.ggml.tokens", {"a", "b"});
  const auto config = to_config(*read(bytes.file()));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)["model_type"], "qwen3_moe");
  EXPECT_EQ((*config)["intermediate_size"], 128);
  EXPECT_EQ((*config)["head_dim"], 32);
  EXPECT_EQ((*config)["num_experts"], 8);
  EXPECT_EQ((*config)["num_experts_per_tok"], 2);
  EXPECT_EQ((*config)["partial_rotary_factor"], 0.5);
  EXPECT_EQ((*config)["vocab_size"], 2);
}

TEST(Gguf, an_adapter_is_told_from_a_model) {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama").text("general.type", "adapter");
  const auto config = to_config(*read(bytes.file()));
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("llama.block_count"));
}

TEST(Gguf, sizes_beyond_64_bits_are_errors) {
  const std::uint64_t huge = std::uint64_t{1} << 40U;
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {huge, huge}, 0, 0).file()),
              HasSubstr("exceeds 63 bits"));
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {std::uint64_t{1} << 62U}, 28, 0).file()),
              HasSubstr("exceed 63 bits"));
  // An array whose length times its element's size wraps around.
  const std::string wraps("\x0c\0\0\0\x01\0\0\0\0\0\0\x20", 12);
  EXPECT_THAT(error_of(GgufBytes().raw("k", 9, wraps).file()), HasSubstr("found the end"));
}

TEST(Gguf, what_contradicts_itself_is_an_error) {
  EXPECT_THAT(error_of("GGML" + std::string(40, '\0')), HasSubstr("expected a GGUF file"));
  EXPECT_THAT(error_of(GgufBytes(1).file()), HasSubstr("found 1"));
  EXPECT_THAT(error_of(GgufBytes(77).file()), HasSubstr("found 77"));
  EXPECT_THAT(error_of(GgufBytes().u32("k", 1).u32("k", 1).file()), HasSubstr("there twice"));
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {8}, 0, 32).tensor("w", {8}, 0, 32).file()),
              HasSubstr("there twice"));
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {33}, 8, 34).file()), HasSubstr("blocks of 32"));
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {32}, 31, 34).file()), HasSubstr("type 31"));
  EXPECT_THAT(error_of(GgufBytes().tensor("w", {1, 1, 1, 1, 1}, 0, 4).file()),
              HasSubstr("at most 4 dimensions"));
  EXPECT_THAT(error_of(GgufBytes().tensor_at("w", {8}, 0, 64, 32).file()),
              HasSubstr("expected its data at byte 0"));
  EXPECT_THAT(error_of(GgufBytes().u32("general.alignment", 48).file()), HasSubstr("power of two"));
  EXPECT_THAT(error_of(GgufBytes().raw("k", 99, "").file()), HasSubstr("found 99"));
  EXPECT_THAT(error_of(GgufBytes().text("", "v").file()), HasSubstr("an empty text"));
}

TEST(Gguf, cut_off_at_every_byte_it_is_an_error) {
  for (const GgufBytes& bytes : {tiny_llama(), tiny_llama(3, true)}) {
    const std::string whole = bytes.file();
    const std::string header = bytes.header();
    // The padding behind the last tensor is not missed.
    for (std::size_t length = 0; length + 32 <= whole.size();
         length += length < header.size() ? 1 : 97) {
      EXPECT_NE(error_of(whole.substr(0, length)), "") << length;
    }
  }
}

RC_GTEST_PROP(Gguf, any_damage_is_an_error_or_harmless, ()) {
  std::string bytes = tiny_llama().file();
  const std::size_t header = tiny_llama().header().size();
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
    bytes[*rc::gen::inRange<std::size_t>(0, header)] = *rc::gen::arbitrary<char>();
  const auto read_back = read(bytes);
  if (!read_back) {
    RC_ASSERT(!read_back.error().message.empty() && !read_back.error().next.empty());
    return;
  }
  std::uint64_t sum = 0;
  for (const StoredTensor& tensor : read_back->weights.tensors) sum += tensor.bytes;
  RC_ASSERT(sum == read_back->weights.bytes && sum <= bytes.size());
  const auto config = to_config(*read_back);
  if (!config) RC_ASSERT(!config.error().next.empty());
}

}  // namespace
}  // namespace headroom::estimate

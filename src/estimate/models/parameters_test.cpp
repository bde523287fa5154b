// SPDX-License-Identifier: Apache-2.0
#include "estimate/models/parameters.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

// The width of every model here, and one matrix of it.
constexpr std::uint64_t width = 64;
constexpr std::uint64_t square = width * width;
constexpr std::uint64_t vocabulary = 300 * width;

Architecture read(const char* text) {
  auto model = parse_architecture(*parse_json(text));
  EXPECT_TRUE(model) << model.error().message;
  return model ? *std::move(model) : Architecture{};
}

TEST(MatrixElements, of_a_llama_are_its_linears_and_its_head) {
  const Architecture model = read(R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 300,
      "tie_word_embeddings": true})");
  const std::uint64_t layer = 2 * square + 2 * width * 32 + 3 * width * 128;
  EXPECT_EQ(matrix_elements_per_token(model), 2 * layer + vocabulary);
  // The same, the norms, and the embedding once as it is the head's.
  EXPECT_EQ(parameter_count(model), 2 * (layer + 2 * width) + width + vocabulary);
}

TEST(MatrixElements, of_experts_are_those_that_a_token_is_sent_to) {
  const Architecture model = read(R"({"model_type": "qwen2_moe", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "vocab_size": 300, "num_experts": 8, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48, "mlp_only_layers": [0]})");
  const std::uint64_t attention = 4 * square;
  const std::uint64_t dense = 3 * width * 128;
  const std::uint64_t sparse = 2 * 3 * width * 32 + 8 * width + 3 * width * 48 + width;
  EXPECT_EQ(matrix_elements_per_token(model), 2 * attention + dense + sparse + vocabulary);
  EXPECT_EQ(parameter_count(model) - matrix_elements_per_token(model),
            6 * 3 * width * 32 + vocabulary + 2 * (3 * width + 2 * width) + width);
}

TEST(MatrixElements, of_two_stacks_have_both_and_the_second_attention) {
  const Architecture model = read(R"({"model_type": "t5", "d_model": 64, "d_kv": 8, "d_ff": 128,
      "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "vocab_size": 300,
      "feed_forward_proj": "relu"})");
  const std::uint64_t attention = 4 * width * 32;
  const std::uint64_t mlp = 2 * width * 128;
  EXPECT_EQ(matrix_elements_per_token(model),
            2 * (attention + mlp) + 3 * (2 * attention + mlp) + vocabulary);
}

TEST(ParameterCount, embedding_of_two_stacks_counts_once) {
  const char* const text = R"({"model_type": "t5", "d_model": 64, "d_kv": 8, "d_ff": 128,
      "num_layers": 1, "num_heads": 4, "vocab_size": 300, "tie_word_embeddings": %s})";
  std::string tied = text;
  std::string untied = text;
  tied.replace(tied.find("%s"), 2, "true");
  untied.replace(untied.find("%s"), 2, "false");
  EXPECT_EQ(parameter_count(read(untied.c_str())) - parameter_count(read(tied.c_str())),
            vocabulary);
}

TEST(MatrixElements, classifier_of_samples_is_no_work_of_a_token) {
  const char* const text = R"({"model_type": "vit", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 32, "patch_size": 16,
      "architectures": ["ViTForImageClassification"], "num_labels": 10})";
  EXPECT_EQ(matrix_elements_per_token(read(text)),
            3 * 16 * 16 * width + 4 * square + 2 * width * 128);
}

}  // namespace
}  // namespace headroom::estimate

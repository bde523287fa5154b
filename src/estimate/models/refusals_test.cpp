// SPDX-License-Identifier: Apache-2.0
// Configs of which transformers makes no model, or whose layers are of another kind than they seem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Result<Architecture> made_of(const std::string& model_type, const std::string& changes) {
  Json config = *parse_json(R"({"hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 300})");
  config["model_type"] = model_type;
  config.update(*parse_json(changes));
  return parse_architecture(config);
}

std::string complaint(const std::string& model_type, const std::string& changes) {
  const auto model = made_of(model_type, changes);
  return model ? std::string() : model.error().message;
}

// Also where no window is given, and of families that have none.
TEST(Refusals, layers_of_other_kinds_are_not_taken_for_attention) {
  for (const char* family : {"gemma3_text", "llama", "qwen3"}) {
    EXPECT_THAT(complaint(family, R"({"sliding_window": null,
                    "layer_types": ["mamba", "full_attention"]})"),
                HasSubstr("mamba"))
        << family;
  }
  EXPECT_TRUE(made_of("llama", R"({"layer_types": ["full_attention", "full_attention"]})"));
}

// transformers' own words: "The hidden size (770) is not a multiple of the number of attention
// heads (12)."
TEST(Refusals, widths_that_transformers_refuses_are_refused_with_its_reason) {
  const char* uneven = R"({"hidden_size": 770, "num_attention_heads": 12})";
  EXPECT_THAT(complaint("llama", uneven),
              HasSubstr("a multiple of the 12 attention heads, without which transformers makes "
                        "no llama, found 770"));
  EXPECT_THAT(complaint("bert", R"({"hidden_size": 770, "num_attention_heads": 12,
                  "max_position_embeddings": 64})"),
              HasSubstr("no bert"));
  const auto made = made_of("qwen2", uneven);  // It makes that one.
  ASSERT_TRUE(made);
  EXPECT_EQ(made->main().attention.head_dim, 64U);
}

// Of hybrids, each layer is one of the kinds that its family has.
TEST(Refusals, a_hybrid_has_layers_of_its_own_kinds_alone) {
  EXPECT_THAT(complaint("lfm2", R"({"layer_types": ["conv", "mamba"]})"), HasSubstr("\"mamba\""));
  EXPECT_THAT(complaint("qwen3_5_text", R"({"layer_types": ["linear_attention"]})"),
              HasSubstr("a word for each of 2 layers, found 1"));
  const auto made = made_of("lfm2", R"({"layer_types": ["conv", "full_attention"]})");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->main().mixer(0), Mixer::short_convolution);
  EXPECT_EQ(made->main().layers_with(Mixer::attention), 1U);
}

// Keys of their published config.json beside those that a Llama has too.
TEST(Refusals, recurrent_families_that_are_not_planned_are_refused_by_name) {
  const std::pair<const char*, const char*> refused[] = {
      {"jamba", R"({"attn_layer_period": 8, "mamba_d_state": 16, "num_experts": 16})"},
      {"zamba", R"({"mamba_d_state": 16, "attn_layer_period": 6})"},
      {"zamba2", R"({"mamba_d_state": 64, "layers_block_type": ["mamba", "hybrid"]})"},
      {"rwkv", R"({"attention_hidden_size": 64, "rescale_every": 6})"},
      {"recurrent_gemma", R"({"lru_width": 64, "block_types": ["recurrent", "attention"]})"},
      {"lfm2_moe", R"({"conv_L_cache": 3, "num_experts": 8})"},
  };
  for (const auto& [family, keys] : refused) {
    const auto made = made_of(family, keys);
    ASSERT_FALSE(made) << family;
    EXPECT_EQ(made.error().code, Errc::unsupported);
    EXPECT_THAT(made.error().message, HasSubstr("found \"" + std::string(family) + "\" with "));
    EXPECT_THAT(made.error().next,
                ::testing::AllOf(HasSubstr("\"transformer\""), ::testing::Not(HasSubstr("llama"))));
  }
}

// Mamba is planned, and Nemotron-H but for its layers of experts.
TEST(Refusals, a_layer_of_experts_beside_mamba_is_refused) {
  EXPECT_TRUE(made_of("mamba", "{}"));
  const auto made = made_of("nemotron_h", R"({"hybrid_override_pattern": "M-*M"})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->main().layers, 4U);
  EXPECT_EQ(made->main().layers_with(Mixer::mamba2), 2U);
  EXPECT_FALSE(made->main().feeds_forward(2));
  EXPECT_THAT(complaint("nemotron_h", R"({"hybrid_override_pattern": "MEM*"})"),
              HasSubstr("experts are not planned"));
  EXPECT_THAT(complaint("bamba", R"({"mamba_n_heads": 3})"),
              HasSubstr("that are 128 wide together, found 3"));
}

TEST(Refusals, a_width_beyond_all_is_refused_by_the_number_that_makes_it) {
  const auto lfm2 =
      made_of("lfm2", R"({"block_ffn_dim_multiplier": 1e9, "num_key_value_heads": 2})");
  ASSERT_FALSE(lfm2);
  EXPECT_THAT(lfm2.error().message, HasSubstr("block_ffn_dim_multiplier: expected one that makes"));
}

TEST(Refusals, a_hybrid_has_its_class_es_heads_of_keys_where_none_are_given) {
  const auto qwen = made_of("qwen3_next", R"({"head_dim": 16, "num_experts": 8,
                                   "num_experts_per_tok": 2, "moe_intermediate_size": 32})");
  ASSERT_TRUE(qwen) << qwen.error().message;
  EXPECT_EQ(qwen->main().attention.kv_heads, 2U);
}

}  // namespace
}  // namespace headroom::estimate

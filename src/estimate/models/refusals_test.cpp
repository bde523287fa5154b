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

}  // namespace
}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// What an encoder's config.json says of its head and its positions.
#include <gmock/gmock.h>

#include <string>

#include "base/document.h"
#include "estimate/models/architecture.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Result<Architecture> model_of(const std::string& type, const std::string& more) {
  return parse_architecture(Json::parse(
      R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 300, "model_type": ")" +
      type + "\", " + more + "}"));
}

Result<Architecture> with_head(const std::string& type, const std::string& head) {
  return model_of(type, "\"max_position_embeddings\": 512, \"architectures\": [\"" + head + "\"]");
}

TEST(EncoderTask, a_head_that_is_not_known_is_refused) {
  for (const char* head : {"BertModel", "BertForMaskedLM", "BertForSequenceClassification"})
    EXPECT_TRUE(with_head("bert", head).has_value()) << head;
  for (const char* head :
       {"BertLMHeadModel", "BertForPreTraining", "BertForMultipleChoice", "FooBar"}) {
    const auto model = with_head("bert", head);
    ASSERT_FALSE(model.has_value()) << head;
    EXPECT_THAT(model.error().message, HasSubstr("architectures")) << head;
  }
}

TEST(EncoderTask, of_a_decoder_it_is_said) {
  EXPECT_THAT(with_head("llama", "FooBar")->notes, ::testing::Contains(HasSubstr("FooBar")));
  EXPECT_TRUE(with_head("llama", "LlamaForCausalLM")->notes.empty());
}

TEST(EncoderTask, modernberts_classes_of_tokens_have_the_head_of_masked_words) {
  const auto tokens = with_head("modernbert", "ModernBertForTokenClassification");
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message;
  EXPECT_TRUE(tokens->head.transform);
  EXPECT_FALSE(tokens->head.transform_bias);
  EXPECT_FALSE(with_head("bert", "BertForTokenClassification")->head.transform);
}

TEST(EncoderTask, robertas_first_rows_are_of_no_token) {
  const std::string rows = R"("max_position_embeddings": 514)";
  const auto roberta = model_of("roberta", rows);
  ASSERT_TRUE(roberta.has_value()) << roberta.error().message;
  EXPECT_EQ(roberta->max_positions, 512U);
  EXPECT_EQ(roberta->main().position_rows, 514U);
  EXPECT_EQ(model_of("bert", rows)->max_positions, 514U);
  EXPECT_FALSE(model_of("roberta", R"("max_position_embeddings": 2)").has_value());
}

}  // namespace
}  // namespace headroom::estimate

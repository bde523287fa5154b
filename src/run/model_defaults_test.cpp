// SPDX-License-Identifier: Apache-2.0
#include "run/model_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::run {
namespace {

using estimate::MethodKind;
using estimate::WeightFormat;
using ::testing::HasSubstr;

struct Taken {
  estimate::Job job;
  estimate::Architecture model;
};

Taken take(const char* config, const std::string& job_text) {
  const auto document = parse_document(job_text);
  const auto job = estimate::parse_job(*document);
  const auto model = estimate::parse_architecture(*parse_json(config));
  EXPECT_TRUE(job.has_value() && model.has_value());
  Taken taken{*job, *model};
  take_model_defaults(*document, taken.job, taken.model);
  return taken;
}

const char* const gptq = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}})";
const std::string model_line = "[model]\nname = \"x\"\n";

TEST(ModelDefaults, weights_are_held_as_the_checkpoint_holds_them) {
  const Taken taken = take(gptq, model_line + "[method]\nkind = \"lora\"\n");
  EXPECT_EQ(taken.job.method.base, WeightFormat::gptq4);
  EXPECT_EQ(taken.job.method.group_size, 32);
  EXPECT_EQ(taken.job.method.kind, MethodKind::qlora);
  EXPECT_THAT(taken.model.notes.back(), HasSubstr("gptq in 4 bits"));
}

TEST(ModelDefaults, what_the_job_says_stands) {
  const Taken taken = take(gptq, model_line + "[method]\nkind = \"lora\"\nbase = \"bf16\"\n");
  EXPECT_EQ(taken.job.method.base, WeightFormat::bf16);
  EXPECT_EQ(taken.job.method.kind, MethodKind::lora);
}

TEST(ModelDefaults, a_quantised_checkpoint_is_not_trained_in_full_in_silence) {
  const Taken taken = take(gptq, model_line);
  EXPECT_EQ(taken.job.method.base, WeightFormat::bf16);
  EXPECT_THAT(taken.model.notes.back(), HasSubstr("cannot be trained in full"));
}

TEST(ModelDefaults, a_sample_is_no_longer_than_the_models_positions) {
  const char* const bert = R"({"model_type": "bert", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
      "max_position_embeddings": 512})";
  EXPECT_EQ(take(bert, model_line).job.batch.sequence, 512U);
  EXPECT_EQ(take(bert, model_line + "[batch]\nsequence = 2000\n").job.batch.sequence, 2000U);
}

}  // namespace
}  // namespace headroom::run

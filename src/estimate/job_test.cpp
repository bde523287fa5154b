// SPDX-License-Identifier: Apache-2.0
#include "estimate/job.h"

#include <gtest/gtest.h>

#include "estimate/model_config.h"

namespace headroom::estimate {
namespace {

Result<Job> job_from(const std::string& text) {
  const auto document = parse_document(text);
  return document ? parse_job(*document) : Result<Job>(document.error());
}

std::string complaint(const std::string& text) {
  const auto job = job_from(text);
  return job ? "no complaint" : job.error().message + " | " + job.error().next;
}

TEST(Job, defaults_are_those_of_the_contract) {
  const auto job =
      job_from("[model]\nconfig = \"m\"\n[compute]\ndtype = \"fp32\"\n[method]\nrank = 16\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->method.base, DType::fp32);
  EXPECT_EQ(job->method.alpha, 32.0);
  EXPECT_EQ(job->method.targets.size(), 7U);
  EXPECT_EQ(job->engine.kind, EngineKind::transformers);
  EXPECT_EQ(job->device.allocator, "torch");
  EXPECT_EQ(job->batch.sequence, 1024U);
  EXPECT_EQ(job->device.capacity, std::nullopt);
}

TEST(Job, unknown_key_is_named_with_its_line_and_the_nearest_known_one) {
  const std::string text = complaint("[model]\nconfig = \"m\"\n[batch]\nmicor = 4\n");
  EXPECT_NE(text.find("line 4: batch.micor: unknown key"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean micro?"), std::string::npos) << text;
}

TEST(Job, wrong_values_say_what_was_expected_and_found) {
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = 0\n")
                .find("line 4: batch.micro: expected a whole"),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[batch]\nmicro = -3\n").find("found -3"),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[method]\nkind = \"lroa\"\n").find("kind = \"lora\""),
            std::string::npos);
  EXPECT_NE(complaint("[model]\nconfig=\"m\"\n[device]\ncapacity = \"12 parsecs\"\n")
                .find("device.capacity"),
            std::string::npos);
  EXPECT_NE(complaint("[batch]\nmicro = 1\n").find("model.config or model.name"),
            std::string::npos);
  EXPECT_NE(complaint("batch = 3\n[model]\nconfig=\"m\"\n").find("expected a table"),
            std::string::npos);
}

TEST(Job, global_batch_must_agree_with_micro_and_accumulate) {
  EXPECT_TRUE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=4\naccumulate=8\nglobal=32\n").has_value());
  EXPECT_FALSE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=4\naccumulate=8\nglobal=31\n").has_value());
  EXPECT_TRUE(
      job_from("[model]\nconfig=\"m\"\n[batch]\nmicro=\"auto\"\naccumulate=\"auto\"\nglobal=31\n")
          .has_value());
}

TEST(ModelConfig, parameters_of_qwen2_5_3b_are_exact) {
  const auto model = parse_model_config(*parse_json(R"({"model_type": "qwen2", "hidden_size": 2048,
      "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
      "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true})"));
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->parameters(), 3085938688U);
  EXPECT_EQ(model->head_dim, 128U);
}

TEST(ModelConfig, missing_field_is_named) {
  const auto model =
      parse_model_config(*parse_json(R"({"model_type": "llama", "hidden_size": 64})"));
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("intermediate_size"), std::string::npos);
}

TEST(ModelConfig, impossible_shapes_are_refused) {
  const char* text = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 3, "vocab_size": 300})";
  EXPECT_FALSE(parse_model_config(*parse_json(text)).has_value());
  EXPECT_FALSE(parse_model_config(*parse_json("[1]")).has_value());
}

}  // namespace
}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
#include "proof/trial_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::proof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json llama() {
  return {{"model_type", "llama"},  {"hidden_size", 64},        {"intermediate_size", 128},
          {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 256},      {"rms_norm_eps", 1e-5},     {"tie_word_embeddings", true}};
}

Result<TrialJob> make(const Json& config, Json keys) {
  keys["model"] = {{"config", config}};
  const auto job = estimate::parse_job({keys, {}});
  EXPECT_TRUE(job) << (job ? "" : job.error().message);
  const auto model = estimate::parse_architecture(config);
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return make_trial_job(*job, *model);
}

Json words(const Json& config, const Json& keys) {
  const auto trial = make(config, keys);
  EXPECT_TRUE(trial) << (trial ? "" : trial.error().message);
  return Json::parse(to_words(*trial));
}

TEST(TrialJob, has_the_sizes_of_the_job) {
  const Json told = words(llama(), {{"batch", {{"micro", 3}, {"sequence", 32}}},
                                    {"compute", {{"dtype", "fp32"}, {"checkpointing", "layer"}}},
                                    {"optimizer", {{"kind", "sgd"}, {"learning_rate", 0.5}}}});
  EXPECT_EQ(told["hidden"], 64);
  EXPECT_EQ(told["kv_heads"], 2);
  EXPECT_EQ(told["vocabulary"], 256);
  EXPECT_EQ(told["batch"], 3);
  EXPECT_EQ(told["sequence"], 32);
  EXPECT_EQ(told["dtype"], "fp32");
  EXPECT_EQ(told["optimizer"], "sgd");
  EXPECT_EQ(told["learning_rate"], 0.5);
  EXPECT_EQ(told["checkpointing"], true);
  EXPECT_EQ(told["tied"], true);
  EXPECT_EQ(told["rank"], 0);
}

TEST(TrialJob, adapters_are_those_of_the_job) {
  const Json told = words(
      llama(), {{"method", {{"kind", "lora"}, {"rank", 4}, {"targets", {"q_proj", "v_proj"}}}}});
  EXPECT_EQ(told["rank"], 4);
  EXPECT_EQ(told["targets"], Json({"q", "v"}));
}

TEST(TrialJob, series_of_numbers_has_no_tokens) {
  const Json config = {{"model_type", "transformer"},
                       {"hidden_size", 32},
                       {"num_layers", 2},
                       {"num_heads", 4},
                       {"features", 7},
                       {"outputs", 3}};
  const Json told = words(config, Json::object());
  EXPECT_EQ(told["vocabulary"], 0);
  EXPECT_EQ(told["features"], 7);
  EXPECT_EQ(told["outputs"], 3);
  EXPECT_EQ(told["causal"], false);
  EXPECT_EQ(told["tied"], false);
}

TEST(TrialJob, what_is_left_out_is_said_and_not_planned) {
  const auto trial = make(llama(), {{"batch", {{"micro", 2}, {"accumulate", 8}}},
                                    {"method", {{"kind", "lora"}, {"dropout", 0.1}}}});
  ASSERT_TRUE(trial);
  EXPECT_THAT(trial->left_out, ElementsAre("dropout", HasSubstr("accumulation")));
  EXPECT_EQ(trial->job.method.dropout, 0);
  EXPECT_EQ(trial->job.batch.accumulate, 1);
  EXPECT_EQ(trial->not_planned, "");
}

TEST(TrialJob, only_what_is_run_as_it_is_planned_is_compared) {
  Json gpt = {{"model_type", "gpt2"}, {"n_embd", 64},      {"n_layer", 2},
              {"n_head", 4},          {"vocab_size", 256}, {"n_positions", 64}};
  const auto other = make(gpt, Json::object());
  ASSERT_TRUE(other);
  EXPECT_THAT(other->not_planned, HasSubstr("gpt2"));
  const auto paged = make(llama(), {{"optimizer", {{"kind", "adafactor"}}}});
  ASSERT_TRUE(paged);
  EXPECT_THAT(paged->not_planned, HasSubstr("optimizer"));
}

TEST(TrialJob, what_is_no_training_is_refused) {
  const auto inference = make(llama(), {{"method", {{"kind", "inference"}}}});
  ASSERT_FALSE(inference);
  EXPECT_THAT(inference.error().message, HasSubstr("an inference"));
  const Json t5 = {{"model_type", "t5"}, {"d_model", 64},  {"d_ff", 128},      {"d_kv", 16},
                   {"num_layers", 2},    {"num_heads", 4}, {"vocab_size", 256}};
  const auto two = make(t5, Json::object());
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message, HasSubstr("several stacks"));
}

}  // namespace
}  // namespace headroom::proof

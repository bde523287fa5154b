// SPDX-License-Identifier: Apache-2.0
// Whole jobs that train GPT-2, and what they write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/load_weights.h"
#include "trainer/save_model.h"
#include "trainer/testing/tiny_job.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Target;
using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Changes = std::vector<std::string>;

struct Gpt2Job : TinyJob {
  Gpt2Job() {
    folder.write("config.json",
                 R"({"model_type":"gpt2","n_embd":32,"n_layer":2,"n_head":4,"n_positions":64,)"
                 R"("vocab_size":257,"attn_pdrop":0,"embd_pdrop":0,"resid_pdrop":0})");
  }
};

std::string run(const Result<TrainRequest>& request, RecordingObserver& observer) {
  if (!request) return request.error().message;
  const auto outcome = train(*request, observer);
  if (!outcome) return outcome.error().message;
  return outcome->status ? "" : outcome->status.error().message;
}

TEST(Gpt2Job, a_run_stopped_anywhere_ends_with_the_same_bytes) {
  for (const Changes& changes : {Changes{}, Changes{"method.kind=\"lora\"", "method.dropout=0.1",
                                                    "compute.dtype=\"bf16\""}}) {
    const Gpt2Job whole;
    RecordingObserver observer;
    ASSERT_EQ(run(whole.request(changes), observer), "");
    EXPECT_NE(observer.steps.back().loss, observer.steps.front().loss);
    const std::string file =
        changes.empty() ? "out/model.safetensors" : "out/adapter_model.safetensors";
    for (std::size_t after = 1; after < observer.steps.size(); ++after) {
      const Gpt2Job job;
      RecordingObserver first;
      first.stop_after = after;
      ASSERT_THAT(run(job.request(changes), first), HasSubstr("stopped by request"));
      auto request = job.request(changes);
      request->resume = true;
      RecordingObserver second;
      ASSERT_EQ(run(request, second), "");
      EXPECT_EQ(job.folder.read(file), whole.folder.read(file)) << after;
    }
  }
}

TEST(Gpt2Job, the_result_is_read_as_a_model_and_the_plan_was_right) {
  const Gpt2Job job;
  const auto request = job.request();
  ASSERT_TRUE(request) << request.error().message;
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->status) << outcome->status.error().message;
  Model model(request->settings.config, request->settings.model);
  EXPECT_TRUE(load_weights(job.folder.file("out"), model));
  const Json config = *parse_json(job.folder.read("out/config.json"));
  EXPECT_EQ(config["architectures"], Json::array({"GPT2LMHeadModel"}));
  const auto measured = outcome->report["measured"]["allocated_bytes"].get<double>();
  EXPECT_NEAR(outcome->report["predicted"]["allocated_bytes"].get<double>() / measured, 1, 0.02);
}

TEST(Gpt2Job, every_parameter_is_counted) {
  for (const bool tied : {true, false}) {
    estimate::ModelConfig config = testing::tiny_gpt2_config();
    config.tied = tied;
    Model model(config, testing::fp64_options());
    std::uint64_t count = 0;
    std::uint64_t factored = 0;
    for (const Parameter& parameter : model.base()) {
      count += static_cast<std::uint64_t>(parameter.value.numel());
      for (const std::int64_t side : parameter.value.sizes())
        factored += static_cast<std::uint64_t>(side);
    }
    EXPECT_EQ(config.parameters(), count);
    std::uint64_t found = 0;
    for (const TrainedShape& shape : trained_shapes(config, testing::fp64_options()))
      found += shape.count * (shape.rows + shape.columns);
    EXPECT_EQ(found, factored);
    EXPECT_EQ(model.stored().size(), model.base().size());
    const auto again = estimate::decoder_config(estimate::architecture_of(config));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->parameters(), count);
  }
}

Json adapter_config(const estimate::ModelConfig& config, std::vector<Target> targets) {
  return make_adapter_config(config, {.targets = std::move(targets)}, nullptr);
}

TEST(Gpt2Job, peft_is_told_the_modules_and_how_their_matrices_lie) {
  using enum Target;
  const estimate::ModelConfig gpt2 = testing::tiny_gpt2_config();
  const Json all = adapter_config(gpt2, {q, k, v, o, gate, up, down});
  EXPECT_EQ(all["target_modules"], Json::array({"c_attn", "c_proj", "c_fc"}));
  EXPECT_EQ(all["fan_in_fan_out"], true);
  EXPECT_EQ(adapter_config(gpt2, {o, up})["target_modules"], Json::array({"attn.c_proj", "c_fc"}));
  EXPECT_EQ(adapter_config(gpt2, {down})["target_modules"], Json::array({"mlp.c_proj"}));
  const Json qwen2 = adapter_config(testing::tiny_config(), {q, down});
  EXPECT_EQ(qwen2["target_modules"], Json::array({"q_proj", "down_proj"}));
  EXPECT_EQ(qwen2["fan_in_fan_out"], false);
}

}  // namespace
}  // namespace headroom::trainer

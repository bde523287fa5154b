// SPDX-License-Identifier: Apache-2.0
// Whole jobs that train Gemma 2, and what they write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/load_weights.h"
#include "trainer/testing/tiny_job.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::RecordingObserver;
using testing::TinyJob;

using Lines = std::vector<std::string>;

constexpr const char* tiny_gemma2_json =
    R"({"model_type":"gemma2","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":8,"vocab_size":257,)"
    R"("sliding_window":16,"query_pre_attn_scalar":12,"attn_logit_softcapping":5.0})";

struct GemmaJob : TinyJob {
  GemmaJob() { folder.write("config.json", tiny_gemma2_json); }
};

std::string train_once(const Result<TrainRequest>& request, RecordingObserver& observer) {
  if (!request) return request.error().message;
  const auto outcome = train(*request, observer);
  if (!outcome) return outcome.error().message;
  return outcome->status ? "" : outcome->status.error().message;
}

TEST(GemmaJob, a_run_stopped_anywhere_ends_with_the_same_bytes) {
  for (const Lines& changes :
       {Lines{}, Lines{"method.kind=\"lora\"", "method.dropout=0.1", "compute.dtype=\"bf16\""}}) {
    const GemmaJob whole;
    RecordingObserver observer;
    ASSERT_EQ(train_once(whole.request(changes), observer), "");
    EXPECT_LT(observer.steps.back().loss, observer.steps.front().loss);
    const std::string file =
        changes.empty() ? "out/model.safetensors" : "out/adapter_model.safetensors";
    for (std::size_t after = 1; after < observer.steps.size(); ++after) {
      const GemmaJob job;
      RecordingObserver first;
      first.stop_after = after;
      ASSERT_THAT(train_once(job.request(changes), first), HasSubstr("stopped by request"));
      auto request = job.request(changes);
      request->resume = true;
      RecordingObserver second;
      ASSERT_EQ(train_once(request, second), "");
      EXPECT_EQ(job.folder.read(file), whole.folder.read(file)) << after;
    }
  }
}

TEST(GemmaJob, another_cap_is_another_run) {
  const GemmaJob job;
  RecordingObserver first;
  first.stop_after = 1;
  ASSERT_THAT(train_once(job.request(), first), HasSubstr("stopped by request"));
  std::string config = tiny_gemma2_json;
  config.replace(config.find("5.0"), 3, "6.0");
  job.folder.write("config.json", config);
  auto request = job.request();
  request->resume = true;
  RecordingObserver second;
  EXPECT_THAT(train_once(request, second),
              HasSubstr("attn_logit_softcapping: expected 5 as in the checkpoint, found 6"));
}

TEST(GemmaJob, the_result_is_read_as_a_model_and_the_plan_was_right) {
  const GemmaJob job;
  const auto request = job.request();
  ASSERT_TRUE(request) << request.error().message;
  RecordingObserver observer;
  const auto outcome = train(*request, observer);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->status) << outcome->status.error().message;
  Model model(request->settings.config, request->settings.model);
  EXPECT_TRUE(load_weights(job.folder.file("out"), model));
  const Json config = *parse_json(job.folder.read("out/config.json"));
  EXPECT_EQ(config["architectures"], Json::array({"Gemma2ForCausalLM"}));
  const auto measured = outcome->report["measured"]["allocated_bytes"].get<double>();
  EXPECT_NEAR(outcome->report["predicted"]["allocated_bytes"].get<double>() / measured, 1, 0.02);
}

TEST(GemmaJob, every_parameter_is_counted_and_begins_where_it_should) {
  for (const bool around : {true, false}) {
    estimate::ModelConfig config = testing::tiny_gemma2_config();
    config.norms_around = around;
    config.family = around ? "gemma2" : "gemma";
    Model model(config, testing::fp64_options());
    model.initialise_base(1);
    std::uint64_t count = 0;
    std::uint64_t factored = 0;
    for (const Parameter& parameter : model.base()) {
      count += static_cast<std::uint64_t>(parameter.value.numel());
      for (const std::int64_t side : parameter.value.sizes())
        factored += static_cast<std::uint64_t>(side);
      EXPECT_EQ(parameter.value.abs().max().item<double>() == 0, parameter.value.dim() == 1)
          << parameter.name;
    }
    EXPECT_EQ(config.parameters(), count);
    std::uint64_t found = 0;
    for (const TrainedShape& shape : trained_shapes(config, testing::fp64_options()))
      found += shape.count * (shape.rows + shape.columns);
    EXPECT_EQ(found, factored);
    const auto again = estimate::decoder_config(estimate::architecture_of(config));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->parameters(), count);
    EXPECT_EQ(again->gemma, true);
    EXPECT_EQ(again->norms_around, around);
  }
}

}  // namespace
}  // namespace headroom::trainer

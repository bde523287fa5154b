// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/supported_config.h"
#include "trainer/testing/tiny_job.h"

namespace headroom::trainer {
namespace {

using ::testing::HasSubstr;
using testing::TinyJob;

Error refusal(const std::vector<std::string>& changes) {
  const TinyJob job;
  const auto request = job.request(changes);
  if (request) {
    ADD_FAILURE() << "accepted";
    return {};
  }
  EXPECT_FALSE(request.error().next.empty()) << request.error().message;
  return request.error();
}

TEST(Settings, what_the_trainer_cannot_do_is_refused_by_key) {
  EXPECT_THAT(refusal({"engine.kind=\"transformers\""}).message, HasSubstr("engine.kind"));
  EXPECT_THAT(refusal({"compute.dtype=\"fp16\""}).message, HasSubstr("compute.dtype"));
  EXPECT_THAT(refusal({"method.base=\"bf16\""}).message, HasSubstr("method.base"));
  EXPECT_THAT(refusal({"compute.keep_outputs=true"}).message, HasSubstr("keep_outputs"));
  EXPECT_THAT(refusal({"optimizer.master=\"fp32\""}).message, HasSubstr("optimizer.master"));
  EXPECT_THAT(refusal({"data.path=[]"}).message, HasSubstr("data.path"));
}

TEST(Settings, a_name_without_files_is_nothing_to_train) {
  run::LoadedJob loaded;
  loaded.job.engine.kind = estimate::EngineKind::headroom;
  loaded.job.device.allocator = "headroom";
  loaded.job.compute.dtype = loaded.job.compute.residual = loaded.job.compute.embeddings =
      estimate::DType::fp32;
  loaded.job.method.base = estimate::WeightFormat::fp32;
  loaded.job.data.paths = {"."};
  loaded.job.model.name = "Qwen/Qwen2.5-0.5B";
  const auto settings = make_settings(loaded);
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().message, HasSubstr("model.name"));
}

TEST(Settings, paths_start_from_the_folder_of_the_job) {
  const TinyJob job;
  const auto request = job.request({"model.config=\".\""});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->settings.data.paths[0], ::testing::StartsWith(job.folder.path()));
  EXPECT_THAT(*request->settings.model_folder, ::testing::StartsWith(job.folder.path()));
}

TEST(Settings, accumulation_follows_from_the_global_batch) {
  const TinyJob job;
  const auto request = job.request({"batch.global=6", "batch.accumulate=\"auto\""});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->settings.batch.micro, 2U);
  EXPECT_EQ(request->settings.batch.accumulate, 3U);
}

TEST(Settings, a_fused_matrix_has_one_adapter) {
  const TinyJob job;
  std::string config = testing::tiny_config_json;
  config.replace(config.find("qwen2"), 5, "phi3");
  job.folder.write("config.json", config);
  for (const char* targets : {R"(["o", "down"])", R"(["qkv_proj"])", R"(["gate_up_proj", "o"])"})
    EXPECT_TRUE(job.request({"method.kind=\"lora\"", std::string("method.targets=") + targets}));
  EXPECT_TRUE(job.request({"method.kind=\"lora\""}));
  for (const auto& [targets, found] : {std::pair{R"(["q", "v"])", R"(found "q", "v" without "k")"},
                                       {R"(["qkv_proj", "up"])", R"(found "up" without "gate")"}}) {
    const auto part =
        job.request({"method.kind=\"lora\"", std::string("method.targets=") + targets});
    ASSERT_FALSE(part);
    EXPECT_THAT(part.error().message, HasSubstr(found));
    EXPECT_THAT(part.error().next, HasSubstr("[\"qkv_proj\", \"gate_up_proj\"]"));
  }
  const auto moments = job.request({"optimizer.kind=\"adafactor\""});
  ASSERT_FALSE(moments);
  EXPECT_THAT(moments.error().message, HasSubstr("optimizer.kind"));
  EXPECT_TRUE(job.request({"optimizer.kind=\"sgd\""}));
}

constexpr const char* tiny_gpt2_json =
    R"({"model_type":"gpt2","n_embd":32,"n_layer":2,"n_head":4,"n_positions":64,"vocab_size":257,)"
    R"("attn_pdrop":0,"embd_pdrop":0,"resid_pdrop":0})";

TEST(Settings, gpt2_has_one_adapter_for_q_k_and_v_and_an_end_of_positions) {
  const TinyJob job;
  job.folder.write("config.json", tiny_gpt2_json);
  const auto lora = [&](const std::string& targets) {
    std::vector<std::string> changes = {"method.kind=\"lora\""};
    if (!targets.empty()) changes.push_back("method.targets=" + targets);
    const auto request = job.request(changes);
    return request ? "" : request.error().message;
  };
  EXPECT_EQ(lora(""), "");
  EXPECT_EQ(lora("[\"c_attn\", \"c_fc\"]"), "");
  EXPECT_EQ(lora("[\"o\"]"), "");
  EXPECT_THAT(lora("[\"q\", \"v\"]"), HasSubstr("q, k or v without the others"));
  EXPECT_THAT(lora("[\"gate\", \"up\"]"), HasSubstr("\"gate\", which it has not"));
  EXPECT_TRUE(job.request({"optimizer.kind=\"adafactor\"", "batch.sequence=64"}));
  const auto longer = job.request({"batch.sequence=65"});
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("expected at most 64, the positions"));
}

Status check_gpt2(std::string changed) {
  estimate::ModelConfig model;
  model.position_rows = 64;
  return check_supported(
      *parse_json(R"({"attn_pdrop":0,"embd_pdrop":0.0,"resid_pdrop":0)" + changed + "}"), model);
}

TEST(SupportedConfig, gpt2_without_dropout_is_accepted_and_its_variants_are_refused) {
  EXPECT_TRUE(check_gpt2(""));
  EXPECT_TRUE(check_gpt2(R"(,"activation_function":"gelu_new","scale_attn_weights":true)"));
  EXPECT_TRUE(check_gpt2(R"(,"reorder_and_upcast_attn":false)"));
  for (const char* variant :
       {R"(,"activation_function":"gelu")", R"(,"scale_attn_weights":false)",
        R"(,"scale_attn_by_inverse_layer_idx":true)", R"(,"reorder_and_upcast_attn":true)"})
    EXPECT_FALSE(check_gpt2(variant)) << variant;
  estimate::ModelConfig model;
  model.position_rows = 64;
  const Status unsaid = check_supported(*parse_json(R"({"attn_pdrop":0,"resid_pdrop":0})"), model);
  ASSERT_FALSE(unsaid);
  EXPECT_THAT(unsaid.error().message,
              HasSubstr("embd_pdrop: expected 0, as headroom-train has LoRA's dropout alone, found "
                        "0.1, which GPT-2 has without the key"));
}

Status check_gemma(const char* config, bool second) {
  estimate::ModelConfig model;
  model.gemma = true;
  model.norms_around = second;
  return check_supported(*parse_json(config), model);
}

TEST(SupportedConfig, gemma_has_one_activation_under_its_names) {
  for (const bool second : {false, true}) {
    for (const char* config :
         {"{}", R"({"hidden_activation":"gelu_pytorch_tanh","use_bidirectional_attention":false})",
          R"({"hidden_act":"gelu","hidden_activation":null,"use_bidirectional_attention":null})"})
      EXPECT_TRUE(check_gemma(config, second)) << config;
    for (const char* config :
         {R"({"hidden_activation":"gelu"})", R"({"use_bidirectional_attention":true})",
          R"({"attention_dropout":0.1})"})
      EXPECT_FALSE(check_gemma(config, second)) << config;
    EXPECT_EQ(check_gemma(R"({"hidden_act":"silu"})", second).has_value(), second);
  }
}

// Of Gemma 2's class where the key is absent; null is none.
TEST(SupportedConfig, gemma2_has_its_own_scale_and_caps) {
  const std::string start =
      R"({"model_type":"gemma2","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":8,"vocab_size":257)";
  const auto parse = [&](const std::string& rest) {
    return estimate::parse_model_config(*parse_json(start + rest + "}"));
  };
  const auto plain = parse("");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_TRUE(plain->gemma && plain->norms_around && plain->tied);
  EXPECT_EQ(plain->windows, (std::vector<std::uint64_t>{4096, 0}));
  EXPECT_EQ(plain->query_scalar, 256);
  EXPECT_EQ(plain->score_cap, 50);
  EXPECT_EQ(plain->logit_cap, 30);
  const auto own = parse(R"(,"query_pre_attn_scalar":144,"attn_logit_softcapping":null,)"
                         R"("final_logit_softcapping":7.5)");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->query_scalar, 144);
  EXPECT_EQ(own->score_cap, 0);
  EXPECT_EQ(own->logit_cap, 7.5);
  for (const char* wrong : {R"(,"query_pre_attn_scalar":null)", R"(,"query_pre_attn_scalar":-1)",
                            R"(,"attn_logit_softcapping":0)", R"(,"final_logit_softcapping":"x")"})
    EXPECT_FALSE(parse(wrong)) << wrong;
  EXPECT_THAT(parse(R"(,"attn_logit_softcapping":0)").error().message,
              HasSubstr("attn_logit_softcapping: expected a number above 0 or null, found 0"));
}

Status check(const char* config) {
  estimate::ModelConfig model;
  model.rope_theta = 10000;
  return check_supported(*parse_json(config), model);
}

TEST(SupportedConfig, variants_that_would_train_another_model_are_refused) {
  for (const char* config :
       {R"({"rope_parameters":{"rope_type":"default","rope_theta":500000.0}})",
        R"({"partial_rotary_factor":0.5})",
        R"({"rope_parameters":{"rope_type":"default","partial_rotary_factor":0.75}})",
        R"({"hidden_act":"gelu"})", R"({"attention_dropout":0.1})"}) {
    const Status status = check(config);
    ASSERT_FALSE(status) << config;
    EXPECT_EQ(status.error().code, Errc::unsupported);
  }
}

TEST(SupportedConfig, what_makes_no_difference_is_accepted) {
  for (const char* config :
       {"{}", R"({"rope_scaling":null,"hidden_act":"silu"})",
        R"({"rope_parameters":{"rope_type":"default","rope_theta":10000}})",
        R"({"model_type":"mistral","sliding_window":4096,"attention_dropout":0.0})",
        R"({"model_type":"qwen2","use_sliding_window":true,"sliding_window":512})"}) {
    EXPECT_TRUE(check(config)) << config;
  }
}

}  // namespace
}  // namespace headroom::trainer

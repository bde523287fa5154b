// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_words.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

Job job_from(const std::string& text) {
  const auto document = parse_document("[model]\nconfig = \"m\"\n" + text);
  EXPECT_TRUE(document.has_value());
  auto job = parse_job(*document);
  EXPECT_TRUE(job.has_value()) << (job ? "" : job.error().message);
  return job ? *std::move(job) : Job{};
}

TEST(JobWords, attn_implementation) {
  EXPECT_EQ(job_from("[compute]\nattention = \"sdpa\"\n").compute.attention, std::nullopt);
  const Job package = job_from("[compute]\nattention = \"flash_attention_2\"\n");
  EXPECT_EQ(package.compute.attention, Attention::flash);
  EXPECT_TRUE(package.compute.own_windows);
  EXPECT_FALSE(job_from("[compute]\nattention = \"flash\"\n").compute.own_windows);
  EXPECT_EQ(job_from("[compute]\nattention = \"eager\"\n").compute.attention, Attention::eager);
}

TEST(JobWords, padding_gives_sdpa_a_mask_and_leaves_others_as_they_are) {
  const auto attention = [](const std::string& word) {
    const std::string line = word.empty() ? "" : "attention = \"" + word + "\"\n";
    return job_from("[compute]\npadding = true\n" + line).compute.attention;
  };
  EXPECT_EQ(attention(""), Attention::sdpa_mask);
  EXPECT_EQ(attention("sdpa"), Attention::sdpa_mask);
  EXPECT_EQ(attention("efficient"), Attention::sdpa_mask);
  EXPECT_EQ(attention("flash_attention_2"), Attention::flash);
  EXPECT_EQ(attention("eager"), Attention::eager);
}

TEST(JobWords, use_reentrant_is_read) {
  const auto job = job_from("[compute]\ncheckpointing = \"layer\"\nuse_reentrant = true\n");
  EXPECT_EQ(job.compute.checkpointing, Checkpointing::layer);
  EXPECT_TRUE(job.compute.reentrant);
}

TEST(JobWords, optimizers_of_the_trainer) {
  const auto optimizer = [](const std::string& kind) {
    return job_from("[optimizer]\nkind = \"" + kind + "\"\n").optimizer;
  };
  EXPECT_EQ(optimizer("adamw_torch").kind, OptimizerKind::adamw);
  EXPECT_FALSE(optimizer("adamw_torch").fused);
  EXPECT_TRUE(optimizer("adamw_torch_fused").fused);
  EXPECT_EQ(optimizer("adamw_8bit").kind, OptimizerKind::adamw8bit);
  EXPECT_EQ(optimizer("adamw_bnb_8bit").kind, OptimizerKind::adamw8bit);
  EXPECT_TRUE(optimizer("adamw_8bit").by_trainer);
  EXPECT_FALSE(optimizer("adamw8bit").by_trainer);
  EXPECT_EQ(job_from("[optimizer]\nkind = \"sgd\"\nmomentum = true\n").optimizer.momentum, 0.9);
}

TEST(JobWords, modules_of_peft) {
  using enum Target;
  EXPECT_EQ(targets_of("q_proj"), std::vector<Target>{q});
  EXPECT_EQ(targets_of("value"), std::vector<Target>{v});
  EXPECT_EQ(targets_of("c_attn"), (std::vector<Target>{q, k, v}));
  EXPECT_EQ(targets_of("gate_up_proj"), (std::vector<Target>{gate, up}));
  EXPECT_TRUE(targets_of("dense").empty());
  EXPECT_EQ(targets_of("embed_out"), std::vector<Target>{head});
  EXPECT_EQ(targets_of("wte"), std::vector<Target>{embedding});
  const auto targets = [](const std::string& list) {
    return job_from("[method]\nkind = \"lora\"\ntargets = " + list + "\n").method.targets;
  };
  EXPECT_EQ(targets("\"all-linear\"").size(), 7U);
  EXPECT_EQ(targets("[\"all-linear\"]").size(), 7U);
  EXPECT_EQ(targets("[\"qkv_proj\", \"o_proj\"]"), (std::vector<Target>{q, k, v, o}));
  EXPECT_EQ(targets("[\"q_proj\", \"c_attn\"]"), (std::vector<Target>{q, k, v}));
}

TEST(JobWords, target_is_the_length_of_labels) {
  EXPECT_EQ(job_from("[batch]\nsequence = 512\ntarget = 64\n").batch.target, 64U);
  EXPECT_EQ(job_from("[batch]\nsequence = 512\n").batch.target, std::nullopt);
}

}  // namespace
}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// tests/plan/kernel_peaks.py holds the peaks of these steps beside PyTorch's.
#include "estimate/transformers/liger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/transformers/mlp.h"
#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::recorded;
using ::testing::SizeIs;
using testing::tensors;

Json model(const std::string& type) {
  return {{"model_type", type},       {"vocab_size", 500},
          {"hidden_size", 64},        {"intermediate_size", 128},
          {"num_hidden_layers", 2},   {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 64},
          {"head_dim", 16},           {"tie_word_embeddings", true}};
}

Job job_of(MethodKind kind) {
  Job job;
  job.method.kind = kind;
  job.method.base = WeightFormat::bf16;
  job.batch.sequence = 40;
  job.compute.attention = Attention::flash;
  return job;
}

TEST(Liger, kernels_write_gradients_over_what_they_were_given) {
  Job job = job_of(MethodKind::full);
  job.compute.liger.on = true;
  const Recording recording = recorded(job, model("llama"));
  EXPECT_THAT(tensors(recording, "layernorm.grad"), IsEmpty());
  EXPECT_THAT(tensors(recording, "product.grad"), IsEmpty());
  EXPECT_THAT(tensors(recording, "rotated"), IsEmpty());
  EXPECT_THAT(tensors(recording, "log_probabilities"), IsEmpty());
  // Two of each layer and the last one; of each the parts of one multiprocessor.
  EXPECT_THAT(tensors(recording, ".weight_grad_parts"), SizeIs(5));
}

TEST(Liger, a_norm_between_residuals_has_a_gradient_of_its_own) {
  Job job = job_of(MethodKind::full);
  job.compute.attention = Attention::eager;
  job.compute.liger.on = true;
  EXPECT_THAT(tensors(recorded(job, model("gemma2")), "layernorm.grad"), SizeIs(8));
}

TEST(Liger, a_config_turns_no_kernel_on_that_the_family_lacks) {
  Job job = job_of(MethodKind::full);
  job.compute.liger.on = true;
  job.compute.liger.rope = job.compute.liger.fused_linear_cross_entropy = true;
  EXPECT_FALSE(transformers::liger_of(job, "glm4").rope);
  EXPECT_TRUE(transformers::liger_of(job, "glm4").norm);
  const auto granite = transformers::liger_of(job, "granite");
  EXPECT_FALSE(granite.fused_loss);
  EXPECT_TRUE(granite.cross_entropy);
}

TEST(Liger, a_config_turns_single_kernels_off) {
  Job job = job_of(MethodKind::full);
  job.compute.liger.on = true;
  job.compute.liger.rope = job.compute.liger.fused_linear_cross_entropy = false;
  const Recording recording = recorded(job, model("llama"));
  EXPECT_THAT(tensors(recording, "rotated"), SizeIs(4));
  EXPECT_THAT(tensors(recording, "log_probabilities"), SizeIs(1));
  EXPECT_THAT(tensors(recording, ".weight_grad_parts"), SizeIs(5));
}

TEST(Liger, a_gated_unit_goes_by_the_name_that_the_family_has_for_it) {
  Job job = job_of(MethodKind::full);
  job.compute.liger.on = true;
  job.compute.liger.swiglu = false;
  EXPECT_FALSE(transformers::liger_of(job, "llama").glu);
  EXPECT_TRUE(transformers::liger_of(job, "gemma2").glu);
  job.compute.liger.swiglu.reset();
  job.compute.liger.geglu = false;
  EXPECT_TRUE(transformers::liger_of(job, "llama").glu);
  EXPECT_FALSE(transformers::liger_of(job, "gemma").glu);
}

TEST(Liger, two_losses_at_once_are_refused_by_their_key) {
  const auto key = [](std::string_view family, std::optional<bool> plain,
                      std::optional<bool> fused) -> std::string {
    Job job = job_of(MethodKind::full);
    job.compute.liger.on = true;
    job.compute.liger.cross_entropy = plain;
    job.compute.liger.fused_linear_cross_entropy = fused;
    const Status checked = transformers::check_liger(job, family);
    return checked ? "none" : checked.error().key;
  };
  constexpr std::optional<bool> unsaid;
  const std::string table = "compute.liger_kernel_config.";
  EXPECT_EQ(key("llama", true, unsaid), table + "cross_entropy");
  EXPECT_EQ(key("llama", true, true), table + "cross_entropy");
  EXPECT_EQ(key("llama", true, false), "none");
  EXPECT_EQ(key("llama", unsaid, unsaid), "none");
  EXPECT_EQ(key("granite", unsaid, unsaid), "none");
  EXPECT_EQ(key("granite", true, unsaid), "none");
  EXPECT_EQ(key("granite", unsaid, true), table + "fused_linear_cross_entropy");
  EXPECT_EQ(key("granite", false, true), table + "fused_linear_cross_entropy");
  EXPECT_EQ(key("starcoder2", true, true), "none");  // Nothing is done to it.
}

TEST(Liger, families_without_kernels_run_as_they_are) {
  Job job = job_of(MethodKind::full);
  job.compute.liger.on = true;
  EXPECT_FALSE(transformers::liger_patches("starcoder2"));
  EXPECT_FALSE(transformers::liger_of(job, "starcoder2").fused_loss);
  EXPECT_FALSE(transformers::liger_of(job_of(MethodKind::full), "llama").rope);
}

TEST(AdaptedEnds, copies_stand_beside_what_a_tied_model_shares) {
  Job job = job_of(MethodKind::lora);
  job.method.modules_to_save = {Target::embedding, Target::head};
  const Recording recording = recorded(job, model("llama"));
  EXPECT_THAT(tensors(recording, "model.embed_tokens.weight"), SizeIs(1));
  EXPECT_THAT(tensors(recording, ".modules_to_save.weight"), SizeIs(2));
}

TEST(AdaptedEnds, an_adapter_on_the_embedding_lies_on_its_side) {
  Job job = job_of(MethodKind::lora);
  job.method.targets = {Target::embedding, Target::head};
  job.method.rank = 4;
  const Recording recording = recorded(job, model("llama"));
  EXPECT_EQ(tensors(recording, "lora_embedding_A").front().shape, (Shape{4, 500}));
  EXPECT_EQ(tensors(recording, "lora_embedding_B").front().shape, (Shape{64, 4}));
  EXPECT_EQ(tensors(recording, "lm_head.lora_B.weight").front().shape, (Shape{500, 4}));
}

TEST(AdaptedEnds, what_passes_an_adapted_head_by_is_refused) {
  Job job = job_of(MethodKind::lora);
  job.method.targets = {Target::head};
  job.compute.liger.on = true;
  const auto made = record_transformers(job, testing::model_of(model("llama")), {}, 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, HasSubstr("Liger's loss passes by"));
  job.compute.liger.fused_linear_cross_entropy = false;
  EXPECT_TRUE(record_transformers(job, testing::model_of(model("llama")), {}, 1).has_value());
}

TEST(AdaptedModules, of_which_the_model_has_none_are_refused_with_those_that_it_has) {
  Job job = job_of(MethodKind::lora);
  job.method.targets = {Target::gate};
  const Json phi = {{"model_type", "phi"},         {"vocab_size", 500},
                    {"hidden_size", 64},           {"intermediate_size", 128},
                    {"num_hidden_layers", 2},      {"num_attention_heads", 4},
                    {"tie_word_embeddings", false}};
  const auto made = record_transformers(job, testing::model_of(phi), {}, 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message,
              HasSubstr("method.targets: expected modules that phi has (q, k, v, o, up, down), "
                        "found gate"));
  job.method.targets = {Target::gate, Target::up};
  EXPECT_TRUE(record_transformers(job, testing::model_of(phi), {}, 1).has_value());
}

Json mixture(std::uint64_t layers, std::uint64_t experts) {
  return {{"model_type", "qwen3_moe"},  {"vocab_size", 500},           {"hidden_size", 64},
          {"intermediate_size", 128},   {"num_hidden_layers", layers}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2},   {"num_experts", experts},      {"num_experts_per_tok", 2},
          {"moe_intermediate_size", 32}};
}

TEST(SingleExperts, are_those_with_adapters_or_quantised_and_not_too_many) {
  const Architecture few = testing::model_of(mixture(3, 8));
  Job job = job_of(MethodKind::full);
  EXPECT_EQ(transformers::single_experts(job, few), 0U);
  job.method.kind = MethodKind::lora;
  EXPECT_EQ(transformers::single_experts(job, few), 24U);
  const auto made = record_transformers(job, testing::model_of(mixture(1024, 1024)), {}, 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, HasSubstr("at most 65536 experts"));
  EXPECT_THAT(made.error().message, HasSubstr("found 1048576"));
  job.method.targets = {Target::q};
  EXPECT_EQ(transformers::single_experts(job, few), 0U);
  job.method.kind = MethodKind::qlora;
  job.method.base = WeightFormat::nf4;
  EXPECT_EQ(transformers::single_experts(job, few), 24U);
}

// embedding_dense_backward sums the rows of sorted indices in parts, of 3073 / 10 and one a row.
TEST(AdaptedEnds, an_embeddings_gradient_of_many_tokens_is_summed_in_parts) {
  Job job = job_of(MethodKind::full);
  job.batch.sequence = 3073;
  const auto parts = tensors(recorded(job, model("llama")), "embeddings.part_sums");
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_EQ(parts.front().shape, (Shape{307 + 500, 64}));
  job.batch.sequence = 3072;
  EXPECT_THAT(tensors(recorded(job, model("llama")), "embeddings.part_sums"), IsEmpty());
}

}  // namespace
}  // namespace headroom::estimate

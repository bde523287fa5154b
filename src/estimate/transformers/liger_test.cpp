// SPDX-License-Identifier: Apache-2.0
// tests/plan/kernel_peaks.py holds the peaks of these steps beside PyTorch's.
#include "estimate/transformers/liger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// SPDX-License-Identifier: Apache-2.0
// What kernels take beside their results, and what models keep, as real runs on a GPU that only
// counts showed it; rules_test.cpp has those of attention's masks and layouts.
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/tape.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using testing::recorded;
using testing::tensors;

Job job_of(DType dtype, Attention attention) {
  Job job;
  job.batch.micro = 2;
  job.batch.sequence = 40;
  job.compute.attention = attention;
  job.compute.dtype = job.compute.residual = job.compute.embeddings = dtype;
  job.method.base = format_of(dtype);
  return job;
}

Json llama() {
  return {{"model_type", "llama"},    {"vocab_size", 500},
          {"hidden_size", 64},        {"intermediate_size", 128},
          {"num_hidden_layers", 2},   {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 64}};
}

Json t5(bool tied) {
  return {
      {"model_type", "t5"}, {"vocab_size", 500}, {"d_model", 64},  {"d_kv", 16},
      {"d_ff", 128},        {"num_layers", 2},   {"num_heads", 4}, {"tie_word_embeddings", tied}};
}

TEST(Kernels, the_efficient_one_rounds_its_rows_and_adds_up_in_tiles) {
  const Job job = job_of(DType::fp32, Attention::efficient);
  const Recording recording = recorded(job, llama());
  EXPECT_EQ(tensors(recording, "attention.logsumexp").front().shape, (Shape{2, 4, 64}));
  // One tile of 64 × 64 floats and its lock, for each head.
  EXPECT_EQ(tensors(recording, "attention.accumulators").front().bytes(), 8U * (16 + 4 * 64 * 64));
  EXPECT_EQ(tensors(recording, "attention.times_grad").size(), 2U);
  const Job half = job_of(DType::bf16, Attention::efficient);
  Device without_flash;
  without_flash.attention = Attention::efficient;
  EXPECT_TRUE(tensors(recorded(half, llama(), without_flash), "attention.times_grad").empty());
}

TEST(Kernels, flash_accumulates_in_whole_tiles) {
  const Recording recording = recorded(job_of(DType::bf16, Attention::flash), llama());
  EXPECT_EQ(tensors(recording, "attention.dq_accum").front(),
            (Meta{{2, 4, 128, 32}, Element::fp32}));
}

// 65472 rows of 256 columns on an A100: 864 blocks share 128 columns, 108 MiB of partial sums.
TEST(Kernels, a_sum_over_many_rows_is_split_over_the_device) {
  Recorder recorder;
  Tape tape(recorder, {}, std::uint64_t{108} * 2048);
  tape.sum_rows(65472, 256);
  tape.sum_rows(65472, 1024);
  tape.sum_rows(32768, 256);
  tape.sum_rows(512, 256);  // Too few rows for it.
  const Recording recording = recorder.take();
  ASSERT_EQ(recording.tensors.size(), 3U);
  EXPECT_EQ(recording.tensors[0].bytes, std::uint64_t{108} << 20U);
  EXPECT_EQ(recording.tensors[1].bytes, std::uint64_t{108} << 20U);
  EXPECT_EQ(recording.tensors[2].bytes, std::uint64_t{64} << 20U);
  Recorder other;
  Tape(other).sum_rows(65472, 256);  // A device of which nothing is known.
  EXPECT_TRUE(other.take().tensors.empty());
}

TEST(Kernels, torchs_own_attention_copies_its_input_and_its_projections) {
  const Json config = {{"model_type", "transformer"}, {"hidden_size", 64}, {"num_hidden_layers", 2},
                       {"num_attention_heads", 4},    {"features", 8},     {"causal", true}};
  const Recording recording = recorded(job_of(DType::fp32, Attention::efficient), config);
  EXPECT_EQ(tensors(recording, "in_proj.input").size(), 2U);
  EXPECT_EQ(tensors(recording, "in_proj.contiguous").size(), 2U);
  EXPECT_EQ(tensors(recording, "attention.turned").size(), 2U);
  EXPECT_EQ(tensors(recording, "attention_mask").back().shape, (Shape{1, 1, 40, 40}));
}

TEST(Models, t5_of_transformers_5_is_tied_and_keeps_its_softmax_narrow) {
  Job job = job_of(DType::bf16, Attention::eager);
  EXPECT_EQ(tensors(recorded(job, t5(false)), "lm_head.weight").size(), 0U);
  EXPECT_EQ(tensors(recorded(job, t5(false)), "probabilities").front().element, Element::bf16);
  EXPECT_EQ(tensors(recorded(job, t5(false)), "position_bias").front().shape[0], 1U);
  job.engine.transformers = "4.57.1";
  EXPECT_EQ(tensors(recorded(job, t5(false)), "lm_head.weight").size(), 1U);
  EXPECT_EQ(tensors(recorded(job, t5(false)), "probabilities").front().element, Element::fp32);
  EXPECT_EQ(tensors(recorded(job, t5(false)), "position_bias").front().shape[0], 2U);
}

TEST(Models, checkpoints_with_adapters_ask_whispers_first_convolution_for_a_gradient) {
  const Json whisper = {{"model_type", "whisper"},
                        {"vocab_size", 500},
                        {"d_model", 64},
                        {"encoder_layers", 2},
                        {"decoder_layers", 2},
                        {"num_mel_bins", 8},
                        {"encoder_attention_heads", 4},
                        {"decoder_attention_heads", 4},
                        {"encoder_ffn_dim", 128},
                        {"decoder_ffn_dim", 128}};
  Job job = job_of(DType::bf16, Attention::flash);
  job.method.kind = MethodKind::lora;
  job.method.targets = {Target::q, Target::v};
  EXPECT_TRUE(tensors(recorded(job, whisper), "conv2.input_grad").empty());
  job.compute.checkpointing = Checkpointing::layer;
  EXPECT_EQ(tensors(recorded(job, whisper), "conv2.input_grad").size(), 1U);
  job.engine.transformers = "4.57.1";
  EXPECT_TRUE(tensors(recorded(job, whisper), "conv2.input_grad").empty());
}

TEST(Models, labels_of_an_encoder_decoder_have_a_length_of_their_own) {
  Job job = job_of(DType::bf16, Attention::eager);
  job.batch.target = 7;
  const Recording recording = recorded(job, t5(true));
  EXPECT_EQ(tensors(recording, "log_probabilities").front(), (Meta{{14, 500}, Element::bf16}));
  EXPECT_EQ(tensors(recording, "labels").front().shape, (Shape{2, 7}));
}

TEST(Models, layers_with_a_window_have_a_mask_where_the_kernel_knows_none) {
  Json config = llama();
  config["model_type"] = "mistral";
  config["sliding_window"] = 16;
  Job job = job_of(DType::bf16, Attention::flash);
  EXPECT_EQ(tensors(recorded(job, config), "window_mask").size(), 1U);
  EXPECT_EQ(tensors(recorded(job, config), "mask.numbers").size(), 2U);
  job.compute.own_windows = true;
  EXPECT_TRUE(tensors(recorded(job, config), "window_mask").empty());
  job.compute.own_windows = false;
  config["sliding_window"] = 64;
  EXPECT_TRUE(tensors(recorded(job, config), "window_mask").empty());
}

TEST(Models, modernbert_and_olmoe_have_what_their_configs_say) {
  const Json modernbert = {
      {"model_type", "modernbert"}, {"architectures", {"ModernBertForSequenceClassification"}},
      {"vocab_size", 50368},        {"hidden_size", 768},
      {"intermediate_size", 1152},  {"num_hidden_layers", 22},
      {"num_attention_heads", 12}};
  const Json olmoe = {{"model_type", "olmoe"},     {"vocab_size", 50304},
                      {"hidden_size", 1024},       {"intermediate_size", 512},
                      {"num_hidden_layers", 8},    {"num_attention_heads", 16},
                      {"num_experts", 32},         {"num_experts_per_tok", 8},
                      {"num_key_value_heads", 16}, {"tie_word_embeddings", false}};
  const auto elements = [](const Json& config) {
    std::uint64_t sum = 0;
    for (const RecordedTensor& tensor :
         recorded(job_of(DType::bf16, Attention::flash), config).tensors)
      if (tensor.component == Component::weights) sum += tensor.meta.elements();
    return sum;
  };
  EXPECT_EQ(elements(modernbert), 149606402U);
  EXPECT_EQ(elements(olmoe), 539526144U);
}

TEST(Models, adamw_as_one_kernel_has_no_square_roots) {
  Job job = job_of(DType::bf16, Attention::flash);
  EXPECT_FALSE(tensors(recorded(job, llama()), "optimizer.sqrt").empty());
  job.optimizer.fused = true;
  EXPECT_TRUE(tensors(recorded(job, llama()), "optimizer.sqrt").empty());
  job.optimizer.kind = OptimizerKind::sgd;
  EXPECT_TRUE(tensors(recorded(job, llama()), "optimizer.momentum").empty());
  job.optimizer.momentum = 0.9;
  EXPECT_FALSE(tensors(recorded(job, llama()), "optimizer.momentum").empty());
}

}  // namespace
}  // namespace headroom::estimate

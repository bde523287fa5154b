// SPDX-License-Identifier: Apache-2.0
// Layers that are no Llama's, by what they allocate: latent attention, sinks, grouped experts,
// state spaces, samples of sound. Their peaks are held against PyTorch's in
// tests/plan/family_peaks.py.
#include <algorithm>

#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using testing::model_of;
using testing::recorded;
using testing::tensors;

constexpr std::uint64_t batch = 2, sequence = 32;

Job job_of(MethodKind kind, DType dtype = DType::bf16) {
  Job job;
  job.method.kind = kind;
  job.method.base = format_of(dtype);
  job.compute.dtype = job.compute.residual = job.compute.embeddings = dtype;
  job.compute.attention = Attention::flash;
  job.batch.micro = batch;
  job.batch.sequence = job.batch.prompt = sequence;
  return job;
}

Json read(const char* text) {
  return *parse_json(text);
}

Json deepseek() {
  return read(R"({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 128,
      "moe_intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
      "n_shared_experts": 1, "n_routed_experts": 8, "num_experts_per_tok": 2,
      "first_k_dense_replace": 1, "kv_lora_rank": 24, "q_lora_rank": 32, "qk_nope_head_dim": 16,
      "qk_rope_head_dim": 8, "v_head_dim": 12, "vocab_size": 100})");
}

TEST(LatentAttention, caches_the_narrow_row_and_the_turned_key_alone) {
  const auto cached = tensors(recorded(job_of(MethodKind::inference), deepseek()), "cache");
  ASSERT_EQ(cached.size(), 4U);  // Of two layers.
  EXPECT_EQ(cached[0], (Meta{{batch, 1, sequence, 24}, Element::bf16}));
  EXPECT_EQ(cached[1], (Meta{{batch, 1, sequence, 8}, Element::bf16}));
}

// Flash knows heads of one size: values of another take the efficient kernel.
TEST(LatentAttention, takes_flash_only_where_values_are_as_wide_as_keys) {
  const Job job = job_of(MethodKind::full);
  EXPECT_TRUE(tensors(recorded(job, deepseek()), "attention.dq_accum").empty());
  const auto mixed = tensors(recorded(job, deepseek()), "self_attn.attention");
  ASSERT_EQ(mixed.size(), 2U);
  EXPECT_EQ(mixed.front().shape, (Shape{batch, 4, sequence, 12}));
  Json even = deepseek();
  even["v_head_dim"] = 24;
  EXPECT_EQ(tensors(recorded(job, even), "attention.dq_accum").size(), 2U);
}

Json granite(std::uint64_t chunk) {
  Json config = read(R"({"model_type": "granitemoehybrid", "hidden_size": 64,
      "intermediate_size": 128, "shared_intermediate_size": 96, "num_local_experts": 0,
      "num_hidden_layers": 2, "num_attention_heads": 4, "layer_types": ["mamba", "attention"],
      "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 24, "mamba_n_groups": 2,
      "vocab_size": 100})");
  config["mamba_chunk_size"] = chunk;
  return config;
}

// A chunk's tokens are weighed against each other in fp32, for each head.
TEST(Mamba2, weighs_the_tokens_of_each_chunk_in_fp32) {
  const Job job = job_of(MethodKind::full);
  for (const std::uint64_t chunk : {8U, 12U}) {
    const std::uint64_t chunks = (sequence + chunk - 1) / chunk;
    const auto decay = tensors(recorded(job, granite(chunk)), "mamba.L");
    ASSERT_EQ(decay.size(), 1U);  // The second layer attends.
    EXPECT_EQ(decay[0], (Meta{{batch, 8, chunks, chunk, chunk}, Element::fp32}));
  }
}

TEST(Mamba2, caches_a_state_that_does_not_grow) {
  const auto recording = recorded(job_of(MethodKind::inference), granite(8));
  const auto states = tensors(recording, "recurrent_states");
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0], (Meta{{batch, 8, 16, 24}, Element::fp32}));
  const auto convolved = tensors(recording, "conv_states");
  ASSERT_EQ(convolved.size(), 1U);
  EXPECT_EQ(convolved[0], (Meta{{batch, 8 * 16 + 2 * 2 * 24, 4}, Element::bf16}));
}

TEST(Mamba2, has_an_adapter_on_its_matrices_by_all_linear_alone) {
  Job job = job_of(MethodKind::lora);
  job.method.rank = 4;
  job.method.targets = {Target::q, Target::o};
  EXPECT_TRUE(tensors(recorded(job, granite(8)), "in_proj.lora_A.weight").empty());
  job.method.all_linear = true;
  EXPECT_EQ(tensors(recorded(job, granite(8)), "in_proj.lora_A.weight").size(), 1U);
}

TEST(GroupedExperts, are_one_matrix_with_one_gradient) {
  const Recording recording = recorded(job_of(MethodKind::full), deepseek());
  const auto weights = tensors(recording, "experts.gate_up_proj");
  ASSERT_EQ(weights.size(), 1U);  // The first layer is dense.
  EXPECT_EQ(weights.front().shape, (Shape{8, 32, 64}));
  const auto grads = tensors(recording, "gate_up.weight_grad");
  ASSERT_EQ(grads.size(), 1U);
  EXPECT_EQ(grads.front().shape, weights.front().shape);
  const auto rows = tensors(recording, "experts.down");  // Each token goes to two.
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().shape, (Shape{batch * sequence * 2, 64}));
}

// DeepSeek's router multiplies in fp32, and so its shares make the weighted rows fp32.
TEST(GroupedExperts, of_shares_in_fp32_are_weighted_in_fp32) {
  const Job job = job_of(MethodKind::full);
  EXPECT_EQ(tensors(recorded(job, deepseek()), "experts.weighted").front().element, Element::fp32);
  Json granite = read(R"({"model_type": "granitemoe", "hidden_size": 64, "intermediate_size": 16,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_local_experts": 4, "vocab_size": 100})");
  EXPECT_EQ(tensors(recorded(job, granite), "experts.weighted").front().element, Element::bf16);
}

TEST(Sinks, are_one_more_key_of_the_softmax_whatever_kernel_is_asked_for) {
  const Json config = read(R"({"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 32,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100})");
  const Recording recording = recorded(job_of(MethodKind::full), config);
  const auto probabilities = tensors(recording, "self_attn.probabilities");
  ASSERT_EQ(probabilities.size(), 1U);
  EXPECT_EQ(probabilities.front(),
            (Meta{{batch, 4, sequence, sequence + 1}, Element::bf16}));  // Not widened.
  EXPECT_EQ(tensors(recording, "self_attn.sinks").size(), 1U);
}

TEST(StateSpace, keeps_a_state_of_fp32_for_each_token) {
  const Json config = read(R"({"model_type": "mamba", "hidden_size": 32, "num_hidden_layers": 1,
      "state_size": 4, "vocab_size": 100})");
  Job job = job_of(MethodKind::full);
  job.compute.attention = Attention::eager;
  const Recording recording = recorded(job, config);
  const auto states = tensors(recording, "mixer.state");
  ASSERT_EQ(states.size(), sequence);
  EXPECT_EQ(states.front(), (Meta{{batch, 64, 4}, Element::fp32}));
  EXPECT_TRUE(tensors(recording, "scores").empty());
  job = job_of(MethodKind::inference);
  job.batch.generate = 8;
  const auto kept = tensors(recorded(job, config), "recurrent_states");
  ASSERT_EQ(kept.size(), 1U);  // However many tokens there are.
  EXPECT_EQ(kept.front().shape, (Shape{batch, 64, 4}));
}

TEST(Waveform, frozen_convolutions_have_no_gradients_and_adapters_still_pass_through) {
  const Json config = read(R"({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"],
      "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
      "conv_dim": [16, 16], "conv_stride": [5, 2], "conv_kernel": [10, 3], "vocab_size": 32})");
  Job job = job_of(MethodKind::full, DType::fp32);
  job.batch.sequence = 400;
  EXPECT_EQ(tensors(recorded(job, config), "1.conv.weight_grad").size(), 1U);
  job.method.freeze_feature_encoder = true;
  EXPECT_TRUE(tensors(recorded(job, config), "layers.1.conv.input_grad").empty());
  // The class asks its samples for a gradient unless it was told, whoever froze the weights.
  job.method.freeze_feature_encoder = false;
  job.method.kind = MethodKind::lora;
  EXPECT_EQ(tensors(recorded(job, config), "layers.1.conv.input_grad").size(), 1U);
  job.batch.sequence = 19;
  const auto short_one = record_transformers(job, model_of(config), Device{}, 1);
  ASSERT_FALSE(short_one);
  EXPECT_NE(short_one.error().message.find("at least the 20 samples"), std::string::npos);
}

}  // namespace
}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// Rules of PyTorch and transformers that show in what one small job allocates. Each was found, and
// checked, against real runs on a GPU that only counts.
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "base/document.h"
#include "estimate/step.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using testing::recorded;
using testing::tensors;

constexpr std::uint64_t batch = 2, sequence = 32;

Json gpt2() {
  return {{"model_type", "gpt2"}, {"vocab_size", 500}, {"n_embd", 64},
          {"n_layer", 1},         {"n_head", 4},       {"n_positions", 64}};
}

// Two layers of grouped heads.
Json llama() {
  return {{"model_type", "llama"},    {"vocab_size", 500},
          {"hidden_size", 64},        {"intermediate_size", 128},
          {"num_hidden_layers", 2},   {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 64}};
}

Job base_job() {
  Job job;
  job.batch.micro = batch;
  job.batch.sequence = sequence;
  job.compute.attention = Attention::flash;
  return job;
}

TEST(Rules, handles_keep_a_workspace_on_rocm_and_in_older_pytorch) {
  Device device;
  device.blas_workspace = 8320_KiB;
  const auto workspaces = [&](const char* torch, const char* transformers) {
    Job job = base_job();
    job.engine.torch = torch;
    job.engine.transformers = transformers;
    const Recording recording = recorded(job, gpt2(), device);
    const auto kept = tensors(recording, "blas_workspace").size();
    const bool passing = !tensors(recording, "product_workspace").empty();
    return std::pair(kept, passing);
  };
  EXPECT_EQ(workspaces("newest", "newest"), std::pair(2UL, false));  // AMD.
  device.vendor = knowledge::Vendor::nvidia;
  EXPECT_EQ(workspaces("newest", "newest"), std::pair(0UL, true));
  EXPECT_EQ(workspaces("2.15.0+cu132", "4.48"), std::pair(0UL, true));
  EXPECT_EQ(workspaces("2.14", "newest"), std::pair(2UL, false));
  EXPECT_EQ(workspaces("newest", "4.48"), std::pair(2UL, false));  // A PyTorch of its time.
}

TEST(Rules, a_mask_of_bools_becomes_numbers_in_each_layer) {
  Job job = base_job();
  job.compute.attention = Attention::sdpa_mask;
  Recording recording = recorded(job, llama());
  EXPECT_EQ(tensors(recording, "attention_mask").back().element, Element::uint8);
  const std::vector<Meta> numbers = tensors(recording, "mask.numbers");
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers.front(), (Meta{{batch, 1, sequence, sequence}, Element::bf16}));
  EXPECT_TRUE(tensors(recording, "mask.padded").empty());
  job.engine.transformers = "4.52.4";
  EXPECT_TRUE(tensors(recorded(job, llama()), "mask.numbers").empty());
  job.batch.sequence = 33;
  const std::vector<Meta> padded = tensors(recorded(job, llama()), "mask.padded");
  ASSERT_EQ(padded.size(), 2U);
  EXPECT_EQ(padded.front().shape, (Shape{batch, 1, 33, 48}));
}

TEST(Rules, keys_of_grouped_heads_are_repeated_where_no_kernel_groups) {
  const auto repeated = [](Attention kind, DType dtype, const char* transformers,
                           const char* torch) {
    Job job = base_job();
    job.compute.attention = kind;
    job.compute.dtype = job.compute.residual = job.compute.embeddings = dtype;
    job.method.base = format_of(dtype);
    job.engine.transformers = transformers;
    job.engine.torch = torch;
    return !tensors(recorded(job, llama()), "k.repeated").empty();
  };
  EXPECT_FALSE(repeated(Attention::efficient, DType::fp32, "5.23", "2.15"));
  EXPECT_TRUE(repeated(Attention::efficient, DType::fp32, "5.23", "2.14"));
  EXPECT_FALSE(repeated(Attention::efficient, DType::bf16, "5.23", "2.14"));  // Flash takes it.
  EXPECT_TRUE(repeated(Attention::efficient, DType::bf16, "4.53", "2.14"));
  EXPECT_TRUE(repeated(Attention::sdpa_mask, DType::bf16, "5.23", "2.15"));
  EXPECT_FALSE(repeated(Attention::flash, DType::bf16, "4.48", "2.4"));
}

// Flash gives its output the layout of q: heads come first in what was concatenated or copied.
TEST(Rules, flash_costs_a_copy_where_heads_come_first_in_memory) {
  const auto copies = [](Job job, double rotary_part) {
    Json config = llama();
    config["partial_rotary_factor"] = rotary_part;
    return tensors(recorded(job, config), "attention.contiguous").size();
  };
  Job job = base_job();
  EXPECT_EQ(copies(job, 1), 0U);
  EXPECT_EQ(copies(job, 0.5), 2U);
  job.compute.attention = Attention::efficient;
  EXPECT_EQ(copies(job, 1), 0U);
  job.engine.transformers = "4.55";
  EXPECT_EQ(copies(job, 1), 2U);
  job.compute.dtype = job.compute.residual = job.compute.embeddings = DType::fp32;
  job.method.base = WeightFormat::fp32;
  EXPECT_EQ(copies(job, 1), 0U);
}

// _ignore_causal_mask_sdpa asks whether there are fewer tokens than the window has.
TEST(Rules, a_window_as_long_as_the_sequence_is_a_mask_where_pytorch_chooses) {
  Json config = llama();
  config["model_type"] = "mistral";
  config["sliding_window"] = sequence;
  Job job = base_job();
  EXPECT_TRUE(tensors(recorded(job, config), "window_mask").empty());
  job.compute.by_pytorch = true;
  const std::vector<Meta> masks = tensors(recorded(job, config), "window_mask");
  ASSERT_EQ(masks.size(), 1U);
  EXPECT_EQ(masks.front(), (Meta{{1, 1, sequence, sequence}, Element::uint8}));
}

TEST(Rules, positions_are_turned_before_late_norms_and_in_fp32_where_the_family_does) {
  const auto of = [](const char* type, const char* end) {
    Json config = llama();
    config["model_type"] = type;
    return tensors(recorded(base_job(), config), end).size();
  };
  EXPECT_EQ(of("llama", "q.fp32"), 0U);
  EXPECT_EQ(of("cohere", "q.fp32"), 2U);
  EXPECT_EQ(of("ernie4_5", "k.embedded"), 2U);
  EXPECT_EQ(of("hunyuan_v1_dense", "q_norm.weight"), 2U);
  EXPECT_EQ(of("olmo2", "input_layernorm.weight"), 0U);
  EXPECT_EQ(of("olmo2", "post_feedforward_layernorm.weight"), 2U);
  EXPECT_EQ(of("olmo", "norm.weight"), 0U);
}

// CheckpointFunction.backward has a name for its gradients while the layer runs again and back.
TEST(Rules, a_reentrant_checkpoint_holds_the_gradient_it_was_given) {
  Json config = llama();
  config["intermediate_size"] = 4096;  // The peak is inside a layer.
  config["vocab_size"] = 8;
  Job job = base_job();
  job.optimizer.kind = OptimizerKind::sgd;
  job.compute.checkpointing = Checkpointing::layer;
  const auto peak = [&] {
    const auto policy = allocator::make_policy("exact");
    return replay(recorded(job, config), **policy)
        .phases[static_cast<std::size_t>(Phase::backward)];
  };
  const std::uint64_t before = peak();
  job.compute.reentrant = true;
  EXPECT_EQ(peak() - before, batch * sequence * 64 * 2);  // Of the layer's output, in bf16.
}

// torch.pow is one of autocast's fp32 operations: all that follows it in gelu_new is as wide.
TEST(Rules, gelu_new_is_fp32_under_autocast) {
  Job job = base_job();
  job.method.base = WeightFormat::fp32;
  const auto outputs = [&] { return tensors(recorded(job, gpt2()), "gelu_new.output"); };
  ASSERT_EQ(outputs().size(), 1U);
  job.compute.autocast = true;
  EXPECT_EQ(outputs().front().element, Element::fp32);
  job.method.base = WeightFormat::bf16;
  job.compute.autocast = false;
  EXPECT_EQ(outputs().front().element, Element::bf16);
}

}  // namespace
}  // namespace headroom::estimate

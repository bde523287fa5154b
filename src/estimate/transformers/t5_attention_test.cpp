// SPDX-License-Identifier: Apache-2.0
// T5's attention since transformers 5.15: sdpa is given its positions as a mask.
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using testing::recorded;
using testing::tensors;

Job job_of(Attention attention, const std::string& transformers = "5.23.0") {
  Job job;
  job.batch.micro = 2;
  job.batch.sequence = 40;
  job.batch.target = 24;
  job.compute.attention = attention;
  job.compute.dtype = job.compute.residual = job.compute.embeddings = DType::bf16;
  job.method.base = WeightFormat::bf16;
  job.engine.transformers = transformers;
  return job;
}

Json t5() {
  return {{"model_type", "t5"}, {"vocab_size", 500}, {"d_model", 64}, {"d_kv", 16},
          {"d_ff", 128},        {"num_layers", 2},   {"num_heads", 4}};
}

TEST(T5Attention, sdpa_has_no_scores_and_each_layer_its_own_positions) {
  const Recording recording = recorded(job_of(Attention::flash), t5());
  EXPECT_TRUE(tensors(recording, "Attention.probabilities").empty());
  const auto contiguous = tensors(recording, "positions.contiguous");
  ASSERT_EQ(contiguous.size(), 4U);  // Two layers of either stack; cross attention has zeros.
  EXPECT_EQ(contiguous.front(), (Meta{{1, 4, 40, 40}, Element::bf16}));
  EXPECT_EQ(contiguous.back(), (Meta{{1, 4, 24, 24}, Element::bf16}));
  // The decoder's are made anew where a token may not look.
  EXPECT_EQ(tensors(recording, "positions.kept").size(), 2U);
  EXPECT_EQ(tensors(recording, "cross_positions").front().shape, (Shape{1, 4, 24, 40}));
}

TEST(T5Attention, the_kernel_gives_the_positions_of_each_sample_a_gradient) {
  const Recording full = recorded(job_of(Attention::flash), t5());
  // Rows of whole tiles: 40 keys are 48, 24 are 32.
  const auto gradients = tensors(full, "mask.grad");
  ASSERT_EQ(gradients.size(), 4U);
  EXPECT_EQ(gradients.front().shape, (Shape{2, 4, 24, 32}));
  EXPECT_EQ(gradients.back().shape, (Shape{2, 4, 40, 48}));
  EXPECT_EQ(tensors(full, "mask.grad_sum").size(), 4U);
  Job adapters = job_of(Attention::flash);
  adapters.method.kind = MethodKind::lora;
  adapters.method.targets = {Target::q, Target::v};
  EXPECT_TRUE(tensors(recorded(adapters, t5()), "mask.grad").empty());
}

TEST(T5Attention, padded_rows_have_a_mask_of_bools_and_one_for_each_sample) {
  Job job = job_of(Attention::flash);
  job.compute.padding = true;
  const Recording recording = recorded(job, t5());
  const auto masks = tensors(recording, "attention_mask");  // The first is what is given.
  ASSERT_EQ(masks.size(), 3U);
  EXPECT_EQ(masks[1], (Meta{{2, 1, 40, 40}, Element::uint8}));
  EXPECT_EQ(masks[2], (Meta{{2, 1, 24, 40}, Element::uint8}));
  EXPECT_EQ(tensors(recording, "positions.contiguous").front().shape, (Shape{2, 4, 40, 40}));
}

TEST(T5Attention, before_5_15_there_is_no_sdpa_and_a_wide_softmax) {
  for (const char* version : {"5.13.0", "4.57.1"}) {
    const Recording recording = recorded(job_of(Attention::flash, version), t5());
    EXPECT_EQ(tensors(recording, "Attention.probabilities").front().element, Element::fp32)
        << version;
    EXPECT_TRUE(tensors(recording, "positions.contiguous").empty()) << version;
  }
  const Recording eager = recorded(job_of(Attention::eager), t5());
  EXPECT_EQ(tensors(eager, "Attention.probabilities").front().element, Element::bf16);
}

}  // namespace
}  // namespace headroom::estimate

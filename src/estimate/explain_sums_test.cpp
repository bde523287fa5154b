// SPDX-License-Identifier: Apache-2.0
// Two tensors joined into one: found where no single one has the size, only where torch.cat could
// join them, and not for sizes drawn at random.
#include "estimate/explain_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/document.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One layer that holds tensors of these shapes at once, in this order.
Recording layer_of(const std::vector<Meta>& metas) {
  Recorder recorder;
  const auto layer = recorder.open_scope(0, "layers", 7);
  for (const Meta& meta : metas) recorder.allocate("part", layer, meta, Component::activations);
  return recorder.take();
}

Meta fp32(Shape shape) {
  return {std::move(shape), Element::fp32};
}

std::vector<TensorMatch> sums_of(const std::string& printed, const Recording& recording) {
  return find_sums(*parse_printed_size(printed), recording);
}

Result<Architecture> llama(std::uint64_t layers) {
  HEADROOM_TRY(const Json config,
               parse_json(fmt::format(
                   R"({{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
      "num_hidden_layers": {}, "num_attention_heads": 32, "num_key_value_heads": 8,
      "vocab_size": 128256, "tie_word_embeddings": true}})",
                   layers)));
  return parse_architecture(config);
}

Job job_of(std::uint64_t micro, std::uint64_t sequence) {
  Job job;
  job.compute.attention = Attention::eager;
  job.batch.micro = micro;
  job.batch.sequence = sequence;
  return job;
}

TEST(ExplainSums, two_that_can_be_joined_are_named_both) {
  const auto sums = sums_of("96.00 MiB", layer_of({fp32({1024, 8192}), fp32({1024, 16384})}));
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums.front().tensor, "layers.7.part + layers.7.part");
  EXPECT_THAT(sums.front().shape, ElementsAre(1024, 24576));
  EXPECT_EQ(sums.front().bytes, 96ULL << 20U);
  EXPECT_EQ(sums.front().formula, "1024 × 24576 × 4 B");
  EXPECT_GE(sums.front().doubt, 1U);
  EXPECT_FALSE(sums.front().removed_by.empty());
}

TEST(ExplainSums, two_alike_made_one_after_the_other_are_less_doubtful_than_others) {
  const auto alike = sums_of("96.00 MiB", layer_of({fp32({1024, 12288}), fp32({1024, 12288})}));
  const auto other = sums_of("96.00 MiB", layer_of({fp32({1024, 8192}), fp32({1024, 16384})}));
  ASSERT_FALSE(alike.empty());
  ASSERT_FALSE(other.empty());
  EXPECT_EQ(alike.front().doubt, 1U);
  EXPECT_GT(other.front().doubt, alike.front().doubt);
}

TEST(ExplainSums, what_cannot_be_joined_is_no_sum) {
  EXPECT_THAT(sums_of("96.00 MiB", layer_of({fp32({1024, 8192}), fp32({2048, 8192})})).size(), 1U);
  EXPECT_THAT(sums_of("96.00 MiB", layer_of({fp32({1024, 8192}), fp32({4096, 4096})})), IsEmpty());
  EXPECT_THAT(
      sums_of("96.00 MiB", layer_of({fp32({1024, 8192}), Meta{{1024, 32768}, Element::bf16}})),
      IsEmpty());
}

TEST(ExplainSums, what_was_never_live_together_is_no_sum) {
  Recorder recorder;
  const auto layer = recorder.open_scope(0, "layers", 0);
  const auto first = recorder.allocate("a", layer, fp32({1024, 12288}), Component::activations);
  recorder.release(first);
  recorder.allocate("b", layer, fp32({1024, 12288}), Component::activations);
  EXPECT_THAT(sums_of("96.00 MiB", recorder.take()), IsEmpty());
}

TEST(ExplainSums, tensors_of_two_layers_are_no_sum) {
  Recorder recorder;
  for (std::uint32_t i = 0; i < 2; ++i)
    recorder.allocate("a", recorder.open_scope(0, "layers", i), fp32({1024, 12288}),
                      Component::activations);
  EXPECT_THAT(sums_of("96.00 MiB", recorder.take()), IsEmpty());
}

TEST(ExplainSums, gate_and_up_at_once_are_found_in_a_plan) {
  const auto model = llama(2);
  ASSERT_TRUE(model);
  // 3 × 1000 tokens × 8192 wide in bf16, twice: no single tensor of the step has that size.
  const auto printed = to_printed(2ULL * 3 * 1000 * 8192 * 2);
  const auto matches =
      explain_allocation(*parse_printed_size(printed), job_of(3, 1000), *model, Device{});
  ASSERT_TRUE(matches);
  const auto found = std::find_if(matches->begin(), matches->end(), [](const TensorMatch& match) {
    return match.tensor.find(" + ") != std::string::npos;
  });
  ASSERT_NE(found, matches->end());
  EXPECT_THAT(found->tensor, AllOf(HasSubstr("mlp")));
  EXPECT_THAT(found->assumes, ::testing::Contains(HasSubstr("as one tensor")));
}

TEST(ExplainSums, a_size_that_one_tensor_has_is_not_explained_by_two) {
  const auto model = llama(2);
  ASSERT_TRUE(model);
  const auto matches =
      explain_allocation(*parse_printed_size("64.00 MiB"), job_of(4, 1024), *model, Device{});
  ASSERT_TRUE(matches);
  for (const TensorMatch& match : *matches) EXPECT_EQ(match.tensor.find(" + "), std::string::npos);
}

// Of sizes drawn at random, how many have a sum, and how many one with a doubt of 1.
TEST(ExplainSums, chance_rarely_makes_a_sum) {
  const auto model = llama(2);
  ASSERT_TRUE(model);
  std::mt19937_64 numbers(1);
  constexpr int rounds = 1000;
  int explained = 0;
  int believed = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto recording =
        record_step(job_of(1 + numbers() % 32, 256 + numbers() % 4096), *model, Device{});
    ASSERT_TRUE(recording);
    const double exponent = 26 + 9 * static_cast<double>(numbers() % 10000) / 10000;  // 64 MiB up.
    const auto sums =
        sums_of(to_printed(static_cast<std::uint64_t>(std::exp2(exponent))), *recording);
    if (sums.empty()) continue;
    ++explained;
    if (sums.front().doubt <= 1) ++believed;
  }
  RecordProperty("explained", explained);
  RecordProperty("believed", believed);
  EXPECT_LT(explained, rounds / 30);
  EXPECT_LT(believed, rounds / 60);
}

}  // namespace
}  // namespace headroom::estimate

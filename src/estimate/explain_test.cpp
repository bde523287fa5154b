// SPDX-License-Identifier: Apache-2.0
// Naming a tensor by its size: the known example, honesty where nothing or several things fit, and
// that any tensor of a random job is found again from what the message would have printed.
#include "estimate/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/document.h"
#include "estimate/job_arguments.h"
#include "estimate/model_config.h"

namespace headroom::estimate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view known_command =
    "python main.py --num_layers 4 --model_dim 256 --hidden_dim 1024 --num_heads 16 --epochs 2 "
    "--max_training_length 1024 --batch_size 64 --validate_every 5 --warmup_steps 20000";

JobDimensions dimensions(std::initializer_list<std::pair<Dimension, std::uint64_t>> known) {
  JobDimensions all;
  for (const auto& [dimension, value] : known) all.add(dimension, {value, "given", 0});
  return all;
}

std::vector<TensorMatch> explain(std::string_view printed, const JobDimensions& known) {
  const auto size = parse_printed_size(printed);
  return size ? explain_allocation(size->size, size->precision, known) : std::vector<TensorMatch>{};
}

// Axis by axis; one more or less is a sequence that is shifted, which may be but a remark.
bool is_about(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::uint64_t x, std::uint64_t y) {
    return std::max(x, y) - std::min(x, y) <= 1;
  });
}

bool names(const std::vector<TensorMatch>& matches, const TensorMatch& tensor) {
  return std::any_of(matches.begin(), matches.end(), [&tensor](const TensorMatch& match) {
    return match.tensor == tensor.tensor && is_about(match.shape, tensor.shape) &&
           match.dtype == tensor.dtype;
  });
}

TEST(ExplainAllocation, the_scores_of_one_layer_come_first) {
  const auto matches = explain("3.99 GiB", dimensions_in(known_command));
  ASSERT_FALSE(matches.empty());
  const TensorMatch& best = matches.front();
  EXPECT_THAT(best.tensor, HasSubstr("attention scores of one layer"));
  EXPECT_THAT(best.shape, ElementsAre(64, 16, 1023, 1023));
  EXPECT_EQ(best.dtype, "fp32");
  EXPECT_EQ(best.bytes, 64ULL * 16 * 1023 * 1023 * 4);
  EXPECT_EQ(best.formula, "64 × 16 × 1023 × 1023 × 4 B");
  EXPECT_LT(best.error, 0.001);
  EXPECT_EQ(best.doubt, 1U);
  EXPECT_THAT(best.assumes, ElementsAre(HasSubstr("1024 (--max_training_length) minus one")));
  ASSERT_FALSE(best.removed_by.empty());
  EXPECT_THAT(best.removed_by.front(), HasSubstr("memory-efficient attention"));
  EXPECT_EQ(std::count_if(matches.begin(), matches.end(),
                          [](const TensorMatch& match) { return match.rank == 0; }),
            1);
}

TEST(ExplainAllocation, a_size_that_nothing_explains_has_no_match) {
  EXPECT_THAT(explain("3.71 GiB", dimensions_in(known_command)), IsEmpty());
}

TEST(ExplainAllocation, no_dimensions_name_nothing) {
  EXPECT_THAT(explain("3.99 GiB", {}), IsEmpty());
}

TEST(ExplainAllocation, the_segment_that_small_tensors_share_names_nothing) {
  // A mask of 512 × 512 fp32 is 1 MiB and asks for 2; so does every smaller tensor.
  const auto known = dimensions({{Dimension::batch, 1}, {Dimension::sequence, 512}});
  EXPECT_THAT(explain("2.00 MiB", known), IsEmpty());
  EXPECT_TRUE(parse_printed_size("2.00 MiB")->is_shared_segment());
  EXPECT_TRUE(parse_printed_size("20.00 MiB")->is_shared_segment());
}

TEST(ExplainAllocation, tensors_that_the_size_cannot_tell_apart_have_one_rank) {
  // Width and feed-forward are equal: both activations have one size.
  const auto known = dimensions({{Dimension::batch, 8},
                                 {Dimension::sequence, 4096},
                                 {Dimension::hidden, 4096},
                                 {Dimension::intermediate, 4096}});
  const auto matches = explain("512.00 MiB", known);
  const auto rank_of = [&matches](std::string_view part) {
    const auto found =
        std::find_if(matches.begin(), matches.end(), [part](const TensorMatch& match) {
          return match.tensor.starts_with(part) && match.dtype == "fp32";
        });
    return found == matches.end() ? 99U : found->rank;
  };
  EXPECT_EQ(rank_of("hidden states"), 0U);
  EXPECT_EQ(rank_of("feed-forward activation"), 0U);
}

TEST(ExplainAllocation, both_readings_of_a_name_are_tried) {
  // hidden_dim alone: the width of the model, or of the feed-forward.
  const auto known = dimensions_in("python t.py --batch_size 32 --seq_len 2048 --hidden_dim 4096");
  const auto matches = explain("1.00 GiB", known);
  std::vector<std::string> first;
  for (const TensorMatch& match : matches) {
    if (match.rank == 0) first.push_back(match.tensor);
  }
  EXPECT_THAT(first, ::testing::IsSupersetOf(
                         {HasSubstr("hidden states"), HasSubstr("feed-forward activation")}));
}

TEST(ExplainAllocation, logits_are_named_with_what_avoids_them) {
  const auto known =
      dimensions_in("--per_device_train_batch_size 8 --max_seq_length 1024 vocab_size=151936");
  const auto matches = explain("4.64 GiB", known);
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().tensor, HasSubstr("logits"));
  EXPECT_EQ(matches.front().bytes, 8ULL * 1024 * 151936 * 4);
  EXPECT_THAT(matches.front().removed_by.front(), HasSubstr("loss"));
}

TEST(ExplainAllocation, a_shifted_sequence_is_a_remark_where_the_given_one_has_the_size) {
  const auto matches =
      explain("594.00 MiB", dimensions_in("--batch_size 1 --seq_len 1024 vocab_size: 151936"));
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().shape, ElementsAre(1, 1024, 151936));
  EXPECT_THAT(matches.front().assumes, ElementsAre(HasSubstr("one token less")));
}

TEST(ExplainAllocation, an_exact_size_is_padded_at_most) {
  const auto known =
      dimensions({{Dimension::batch, 3}, {Dimension::heads, 5}, {Dimension::sequence, 999}});
  const std::uint64_t scores = 3ULL * 5 * 999 * 999 * 4;
  EXPECT_FALSE(explain(std::to_string(scores), known).empty());
  EXPECT_FALSE(explain(std::to_string(scores + 32), known).empty());
  EXPECT_THAT(explain(std::to_string(scores + 2048), known), IsEmpty());
  EXPECT_THAT(explain(std::to_string(scores - 1), known), IsEmpty());
}

TEST(ExplainAllocation, the_type_that_a_job_computes_in_comes_first) {
  auto known = dimensions({{Dimension::batch, 4},
                           {Dimension::sequence, 8192},
                           {Dimension::hidden, 4096},
                           {Dimension::intermediate, 8192}});
  known.compute = DType::bf16;
  const auto matches = explain("512.00 MiB", known);
  ASSERT_FALSE(matches.empty());
  EXPECT_EQ(matches.front().dtype, "bf16");
  EXPECT_THAT(matches.front().tensor, HasSubstr("feed-forward"));
}

TEST(ExplainAllocation, key_value_caches_of_a_server_are_named) {
  // 2 × 32 layers × 8 heads × 32768 × 128 × 2 bytes, as llama.cpp prints it.
  const auto known = dimensions_in(
      "llama_context: n_ctx = 32768\nprint_info: n_layer = 32\nprint_info: n_head = 32\n"
      "print_info: n_head_kv = 8\nprint_info: n_embd_head_k = 128\nprint_info: n_embd = 4096\n");
  const auto matches = explain("4096.00 MiB", known);
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().tensor, HasSubstr("key/value cache of all layers"));
}

TEST(ExplainAllocation, a_decoder_of_images_is_named) {
  const auto matches = explain("1.00 GiB", dimensions_in("--height 2048 --width 2048 --fp16"));
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().tensor, HasSubstr("VAE"));
  EXPECT_THAT(matches.front().removed_by.front(), HasSubstr("tiled"));
}

TEST(ExplainAllocation, a_usual_vocabulary_is_tried_where_none_is_said) {
  // No command names the vocabulary: 2 × 1024 × 50304 × 4 bytes are 393 MiB, asked for as 394.
  const auto matches = explain("394.00 MiB", dimensions_in("--batch_size=2 --block_size=1024"));
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().shape, ElementsAre(2, 1024, 50304));
  EXPECT_GE(matches.front().doubt, 2U);
  EXPECT_THAT(matches.front().assumes, ::testing::Contains(HasSubstr("GPT-2")));
}

TEST(ExplainAllocation, the_feed_forward_of_llama_is_derived) {
  // {'dim': 4096, 'n_heads': 32}: 11008 × 4096 × 4 bytes.
  const auto matches = explain("172.00 MiB", dimensions_in("{'dim': 4096, 'n_heads': 32}"));
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().tensor, HasSubstr("feed-forward weight"));
}

TEST(ExplainAllocation, attention_over_latents_is_named) {
  // Three images, each with and without the prompt, 8 heads over 64 × 64 latents, half precision.
  const auto matches = explain("1.50 GiB", dimensions_in("--H 512 --W 512 --n_samples 3"));
  ASSERT_FALSE(matches.empty());
  EXPECT_THAT(matches.front().tensor, HasSubstr("attention scores over all latents"));
  EXPECT_GE(matches.front().doubt, 2U);
}

TEST(ExplainAllocation, a_plans_tensors_come_first_by_their_names) {
  Job job;
  job.compute.attention = Attention::eager;
  job.compute.dtype = DType::bf16;
  job.method.base = WeightFormat::bf16;
  job.batch.micro = 4;
  job.batch.sequence = 1024;
  ModelConfig model;
  model.family = "llama";
  model.hidden = 512;
  model.intermediate = 1408;
  model.layers = 2;
  model.heads = model.kv_heads = 8;
  model.head_dim = 64;
  model.vocabulary = 32000;
  const auto matches =
      explain_allocation(*parse_printed_size("128.00 MiB"), job, architecture_of(model), Device{});
  ASSERT_TRUE(matches) << matches.error().message;
  ASSERT_FALSE(matches->empty());
  EXPECT_THAT(matches->front().tensor, HasSubstr("layers.0.self_attn.scores"));
  EXPECT_THAT(matches->front().shape, ElementsAre(4, 8, 1024, 1024));
  EXPECT_THAT(matches->front().removed_by.front(), HasSubstr("memory-efficient"));
}

TEST(ExplainAllocation, the_scores_of_a_transformer_given_by_numbers_come_first) {
  const auto config = parse_json(R"({"model_type": "transformer", "hidden_size": 256,
      "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
      "vocab_size": 1000})");
  ASSERT_TRUE(config);
  const auto model = parse_architecture(*config);
  ASSERT_TRUE(model) << model.error().message;
  Job job;
  job.compute.attention = Attention::math;
  job.compute.dtype = DType::fp32;
  job.batch.micro = 64;
  job.batch.sequence = 1024;
  const auto matches = explain_allocation(*parse_printed_size("3.99GiB"), job, *model, Device{});
  ASSERT_TRUE(matches) << matches.error().message;
  ASSERT_FALSE(matches->empty());
  EXPECT_THAT(matches->front().tensor, HasSubstr("attention scores of one layer"));
  EXPECT_THAT(matches->front().shape, ElementsAre(64, 16, 1023, 1023));
  // With the whole sequence it is the plan's own tensor.
  const auto whole = explain_allocation(*parse_printed_size("4.00GiB"), job, *model, Device{});
  ASSERT_TRUE(whole);
  EXPECT_THAT(whole->front().tensor, HasSubstr("layers.0.self_attn.scores"));
}

JobDimensions random_dimensions() {
  const auto upto = [](std::uint64_t low, std::uint64_t high) {
    return *rc::gen::inRange<std::uint64_t>(low, high + 1);
  };
  const std::uint64_t heads = upto(1, 32);
  auto known = dimensions({{Dimension::batch, upto(1, 64)},
                           {Dimension::sequence, upto(16, 8192)},
                           {Dimension::heads, heads},
                           {Dimension::hidden, heads * 8 * upto(1, 16)},
                           {Dimension::intermediate, upto(64, 16384)},
                           {Dimension::vocabulary, upto(1000, 260000)},
                           {Dimension::layers, upto(1, 80)}});
  if (*rc::gen::arbitrary<bool>()) {
    known.add(Dimension::height, {8 * upto(8, 256), "given", 0});
    known.add(Dimension::width, {8 * upto(8, 256), "given", 0});
  }
  return known;
}

RC_GTEST_PROP(ExplainAllocation, finds_any_tensor_again_from_its_printed_size, ()) {
  const JobDimensions known = random_dimensions();
  auto tensors = all_tensors(known);
  std::erase_if(tensors, [](const TensorMatch& tensor) { return tensor.bytes < (10_MiB).value; });
  RC_PRE(!tensors.empty());
  const TensorMatch& tensor = tensors[*rc::gen::inRange<std::size_t>(0, tensors.size())];
  const std::string printed = to_printed(tensor.bytes);
  RC_LOG() << tensor.tensor << " " << tensor.formula << " printed as " << printed << "\n";
  RC_ASSERT(names(explain(printed, known), tensor));
}

RC_GTEST_PROP(ExplainAllocation, names_only_what_would_print_that_size, ()) {
  const JobDimensions known = random_dimensions();
  const std::uint64_t bytes = *rc::gen::inRange<std::uint64_t>(10ULL << 20U, 64ULL << 30U);
  const std::string printed = to_printed(bytes);
  const auto size = parse_printed_size(printed);
  RC_ASSERT(size.has_value());
  unsigned rank = 0;
  for (const TensorMatch& match : explain(printed, known)) {
    std::uint64_t product = match.dtype == "fp32" ? 4 : match.dtype == "fp16/bf16" ? 2 : 1;
    for (const std::uint64_t axis : match.shape) product *= axis;
    RC_ASSERT(product == match.bytes);
    RC_ASSERT(size->stands_for(match.bytes));
    RC_ASSERT(match.error <= size->precision / static_cast<double>(size->size.value) + 0.21);
    RC_ASSERT(match.rank >= rank && match.rank <= rank + 1);
    rank = match.rank;
    RC_ASSERT(!match.removed_by.empty());
  }
}

TEST(ExplainAllocation, chance_rarely_explains_a_size) {
  std::mt19937_64 numbers(1);
  const auto one_of = [&numbers](std::initializer_list<std::uint64_t> choices) {
    return *(choices.begin() + numbers() % choices.size());
  };
  constexpr int rounds = 1000;
  int explained = 0;
  int believed = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t heads = one_of({8, 12, 16, 32, 40, 64});
    const auto known =
        dimensions({{Dimension::batch, 1 + numbers() % 64},
                    {Dimension::sequence, one_of({512, 1024, 2048, 4096, 8192})},
                    {Dimension::heads, heads},
                    {Dimension::hidden, heads * one_of({64, 80, 128})},
                    {Dimension::intermediate, 1024 + numbers() % 16384},
                    {Dimension::layers, 4 + numbers() % 80},
                    {Dimension::vocabulary, one_of({32000, 50257, 128256, 151936})}});
    const double exponent = 26 + 9 * static_cast<double>(numbers() % 10000) / 10000;  // 64 MiB up.
    const auto matches =
        explain(to_printed(static_cast<std::uint64_t>(std::exp2(exponent))), known);
    if (matches.empty()) continue;
    ++explained;
    if (matches.front().doubt <= 1) ++believed;
  }
  EXPECT_LT(explained, rounds / 12);
  EXPECT_LT(believed, rounds / 30);
}

TEST(PrintedSize, two_decimals_stand_for_what_rounds_to_them) {
  const auto size = parse_printed_size("3.99 GiB");
  ASSERT_TRUE(size);
  EXPECT_NEAR(size->precision, 0.01 * 1073741824, 1);
  EXPECT_TRUE(size->stands_for(64ULL * 16 * 1023 * 1023 * 4));
  EXPECT_FALSE(size->stands_for(64ULL * 16 * 1024 * 1024 * 4));
}

TEST(PrintedSize, a_request_is_rounded_to_two_mebibytes) {
  // 593.5 MiB of logits: PyTorch asks for 594.
  const std::uint64_t logits = 1024ULL * 151936 * 4;
  EXPECT_EQ(to_printed(logits), "594.00 MiB");
  EXPECT_TRUE(parse_printed_size("594.00 MiB")->stands_for(logits));
  EXPECT_FALSE(parse_printed_size("592.00 MiB")->stands_for(logits));
}

TEST(PrintedSize, says_from_what_to_what_a_tensor_may_be) {
  const auto size = parse_printed_size("594.00 MiB");
  EXPECT_EQ(size->smallest(), 592_MiB + 1_B);
  EXPECT_NEAR(static_cast<double>(size->largest().value), 594.005 * 1048576, 2);
  EXPECT_TRUE(size->stands_for(size->smallest().value));
  EXPECT_FALSE(size->stands_for(size->smallest().value - 1));
  // No whole 2 MiB: another allocator printed it as it was.
  EXPECT_NEAR(static_cast<double>(parse_printed_size("593.50 MiB")->smallest().value),
              593.495 * 1048576, 2);
}

TEST(PrintedSize, bytes_are_exact_and_words_are_refused) {
  EXPECT_EQ(parse_printed_size("4286582784")->precision, 0);
  EXPECT_EQ(parse_printed_size("4286582784 bytes")->size.value, 4286582784U);
  EXPECT_FALSE(parse_printed_size("large"));
}

}  // namespace
}  // namespace headroom::estimate

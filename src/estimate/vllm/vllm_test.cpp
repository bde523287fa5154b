// SPDX-License-Identifier: Apache-2.0
// vLLM's options as people type them, and rules that no single load log shows; the logs are
// tests/plan/vllm_logs.toml.
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/vllm/vllm_plan.h"

namespace headroom::estimate::vllm {
namespace {

Json small_config() {
  return {{"model_type", "llama"},        {"hidden_size", 512},
          {"intermediate_size", 1024},    {"num_hidden_layers", 4},
          {"num_attention_heads", 8},     {"num_key_value_heads", 2},
          {"vocab_size", 32000},          {"max_position_embeddings", 4096},
          {"tie_word_embeddings", false}, {"torch_dtype", "bfloat16"}};
}

Card card_of(std::uint64_t mib) {
  Card card;
  card.name = "a card";
  card.total_bytes = mib << 20U;
  return card;
}

Options options_of(const std::vector<std::string>& words) {
  auto read = parse_options(words);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read ? read->options : Options{};
}

Result<VllmPlan> plan_of(const std::vector<std::string>& words, const Card& card,
                         const Json& config = small_config()) {
  auto model = parse_architecture(config);
  if (!model) return std::move(model).error();
  return make_vllm_plan(*std::move(model), config, options_of(words), card);
}

TEST(VllmOptions, are_read_as_vllm_reads_them) {
  const auto read =
      parse_options({"--trust-remote-code", "org/model", "-tp", "2", "--gpu_memory_utilization=0.8",
                     "--max-model-len", "16k", "--enforce-eager", "--served-model-name", "short",
                     "--port", "8001", "--kv-cache-dtype", "fp8", "--max-num-seqs", "32"});
  ASSERT_TRUE(read.has_value());
  const Options& options = read->options;
  EXPECT_EQ(options.model, "org/model");
  EXPECT_EQ(options.tensor_parallel, 2U);
  EXPECT_DOUBLE_EQ(*options.utilization, 0.8);
  EXPECT_EQ(options.max_length, 16000U);  // "16K" would be 16384.
  EXPECT_TRUE(options.enforce_eager);
  EXPECT_EQ(options.max_sequences, 32U);
  EXPECT_EQ(read->unread,
            (std::vector<std::string>{"--trust-remote-code", "--served-model-name", "--port"}));
}

TEST(VllmOptions, say_what_they_expect) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--max-model-len"},
                                             {"--max-model-len", "long"},
                                             {"--gpu-memory-utilization", "90"},
                                             {"--gpu-memory-utilization", "nan"},
                                             {"--block-size", "7"},
                                             {"--dtype", "int3"},
                                             {"--kv-cache-dtype", "nvfp4"},
                                             {"--max-num-seqs", "0"},
                                             {"--max-num-batched-tokens", "1e99"},
                                             {"--tensor-parallel-size", "100000"},
                                             {"--pipeline-parallel-size", "2"},
                                             {"--max-model-len", "1T"},
                                             {"--max-num-seqs", "2M"},
                                             {"--kv-cache-memory-bytes", "1e300"},
                                             {"--enforce-eager=maybe"},
                                             {"--headroom-version", "newest"}}) {
    const auto read = parse_options(words);
    ASSERT_FALSE(read.has_value()) << words.front();
    EXPECT_NE(read.error().message.find("expected"), std::string::npos) << words.front();
  }
  EXPECT_FALSE(read_options({{"kind", "vllm"}, {"max-model-length", 1}}).has_value());
}

TEST(VllmPlan, the_largest_figures_do_not_overflow) {
  const auto plan = plan_of({"m", "--max-model-len", "1073741824", "--max-num-seqs", "1048576",
                             "--max-num-batched-tokens", "67108864", "--block-size", "65536"},
                            card_of(24576));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  // A million rows of logits, in fp32 beside the half type, and what filters them.
  EXPECT_GT(plan->memory.profile.sampler_bytes, std::uint64_t{1} << 38U);
  EXPECT_GT(plan->memory.profile.layer_bytes, std::uint64_t{67108864} * 512 * 2);
  EXPECT_EQ(plan->verdict, Verdict::does_not_fit);
  // By default as many tokens as a step of short requests has, however long they may be.
  const auto open =
      plan_of({"m", "--max-model-len", "1073741824", "--max-num-seqs", "1048576"}, card_of(24576));
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->memory.rules.batched_tokens, 2048U);
}

TEST(VllmRules, follow_the_version_and_the_card) {
  const Card small = card_of(24576);
  const Card large = card_of(196592);
  EXPECT_DOUBLE_EQ(rules_of(options_of({"m"}), 4096, small).utilization, 0.92);
  EXPECT_EQ(rules_of(options_of({"m"}), 4096, small).batched_tokens, 2048U);
  EXPECT_EQ(rules_of(options_of({"m"}), 4096, large).batched_tokens, 8192U);
  EXPECT_EQ(rules_of(options_of({"m"}), 4096, large).max_sequences, 1024U);
  Card a100 = large;
  a100.name = "A100 80GB";
  EXPECT_EQ(rules_of(options_of({"m"}), 4096, a100).batched_tokens, 2048U);
  const Rules old = rules_of(options_of({"m", "--headroom-version", "v0.7.3"}), 8192, small);
  EXPECT_FALSE(old.v1);
  EXPECT_EQ(old.batched_tokens, 8192U);  // A whole prompt at once.
  EXPECT_TRUE(old.sorts_logits);
  EXPECT_EQ(
      rules_of(options_of({"m", "--headroom-version", "0.7.3"}), 131072, small).batched_tokens,
      2048U);
  Options asked = options_of({"m", "--headroom-version", "0.8.5"});
  EXPECT_TRUE(rules_of(asked, 4096, small).v1);
  ASSERT_TRUE(take_variable("VLLM_USE_V1=0", asked).has_value());
  EXPECT_FALSE(rules_of(asked, 4096, small).v1);
}

TEST(VllmCache, a_block_is_a_page_of_every_layer) {
  const auto plan = plan_of({"m"}, card_of(8192));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const CacheLayout& cache = plan->memory.cache;
  // Keys and values of two heads of 64, in two bytes, in four layers.
  EXPECT_EQ(cache.token_bytes, 2U * 2 * 64 * 2 * 4);
  EXPECT_EQ(cache.block_bytes(), 16 * cache.token_bytes);
  EXPECT_EQ(cache.request_blocks, 4096U / 16);
  const auto narrow = plan_of({"m", "--kv-cache-dtype", "fp8_e4m3"}, card_of(8192));
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(2 * narrow->memory.cache.token_bytes, cache.token_bytes);
  // Two heads on four GPUs: each has one of them whole.
  const auto split = plan_of({"m", "-tp", "4"}, card_of(8192));
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(2 * split->memory.cache.token_bytes, cache.token_bytes);
}

TEST(VllmPlan, what_fits_is_what_it_says_fits) {
  const auto plan = plan_of({"m", "--headroom-version", "0.10.0"}, card_of(1100));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_TRUE(plan->fits.has_value());
  ASSERT_FALSE(plan->fitting.empty());
  for (const Fitting& one : plan->fitting) {
    std::vector<std::string> words = {"m", "--headroom-version", "0.10.0"};
    words.insert(words.end(), one.arguments.begin(), one.arguments.end());
    const auto changed = plan_of(words, card_of(1100));
    ASSERT_TRUE(changed.has_value());
    EXPECT_EQ(changed->verdict, Verdict::fits) << one.what;
    EXPECT_EQ(changed->memory.available.low_bytes, one.available_bytes) << one.what;
  }
  // One block more than the longest does not.
  EXPECT_EQ(plan->fitting.front().arguments.front(), "--max-model-len");
}

TEST(VllmPlan, the_arguments_to_type_are_the_plan) {
  const auto plan =
      plan_of({"m", "-tp", "2", "--enforce-eager", "--kv-cache-dtype", "fp8"}, card_of(8192));
  ASSERT_TRUE(plan.has_value());
  const std::vector<std::string> words(plan->arguments.begin() + 1, plan->arguments.end());
  const auto again = plan_of(words, card_of(8192));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->memory.available.low_bytes, plan->memory.available.low_bytes);
  EXPECT_EQ(again->arguments, plan->arguments);
}

TEST(VllmPlan, does_not_start_where_others_hold_its_share) {
  Card card = card_of(8192);
  card.held_bytes = 4ULL << 30U;
  const auto plan = plan_of({"m"}, card);
  ASSERT_TRUE(plan.has_value());
  EXPECT_FALSE(plan->starts);
  EXPECT_EQ(plan->verdict, Verdict::does_not_fit);
  const auto less = plan_of({"m", "--gpu-memory-utilization", "0.4"}, card);
  ASSERT_TRUE(less.has_value());
  EXPECT_TRUE(less->starts);
}

TEST(VllmPlan, refuses_caches_that_it_does_not_know) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, int>>{
           {"kv_lora_rank", 512}, {"linear_num_value_heads", 32}, {"mamba_d_state", 128}}) {
    Json config = small_config();
    config[key] = value;
    EXPECT_FALSE(plan_of({"m"}, card_of(8192), config).has_value()) << key;
  }
  Json convolutions = small_config();
  convolutions["model_type"] = "lfm2";
  const auto refused = plan_of({"m"}, card_of(8192), convolutions);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("convolutions in the place of attention"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(plan_of({"m", "-tp", "3"}, card_of(8192)).has_value());
  EXPECT_FALSE(plan_of({"m", "--quantization", "something"}, card_of(8192)).has_value());
}

TEST(VllmPlan, without_a_card_it_says_no_verdict) {
  const auto plan = plan_of({"m"}, Card{});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->verdict, Verdict::unknown);
  EXPECT_FALSE(plan->fits.has_value());
}

}  // namespace
}  // namespace headroom::estimate::vllm

// SPDX-License-Identifier: Apache-2.0
// TRL's steps against sums by hand; tests/plan/preference_peaks.py has those that were measured.
#include "estimate/transformers/preference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "estimate/transformers/testing.h"

namespace headroom::estimate {
namespace {

using testing::recorded;
using testing::tensors;

constexpr std::uint64_t vocabulary = 40000, width = 64, tokens = 96, prompt = 32;
constexpr std::uint64_t layers = 2;

Json decoder() {
  return {{"model_type", "llama"},          {"vocab_size", vocabulary},
          {"hidden_size", width},           {"intermediate_size", 128},
          {"num_hidden_layers", layers},    {"num_attention_heads", 4},
          {"num_key_value_heads", 4},       {"tie_word_embeddings", false},
          {"max_position_embeddings", 2048}};
}

Job preference_job(TrainerKind trainer) {
  Job job;
  job.preference.trainer = trainer;
  job.preference.prompt = prompt;
  job.batch.micro = 3;
  job.batch.sequence = tokens;
  job.compute.attention = Attention::flash;
  return job;
}

std::size_t loaded(const Recording& recording, const std::string& end) {
  return tensors(recording, end).size();
}

TEST(Preference, a_whole_policy_has_a_second_model_and_adapters_are_passed_by) {
  Job job = preference_job(TrainerKind::dpo);
  EXPECT_EQ(loaded(recorded(job, decoder()), "embed_tokens.weight"), 2U);
  job.preference.precomputed = true;
  EXPECT_EQ(loaded(recorded(job, decoder()), "embed_tokens.weight"), 1U);
  job.preference.precomputed = false;
  job.method.kind = MethodKind::lora;
  const Recording adapted = recorded(job, decoder());
  EXPECT_EQ(loaded(adapted, "embed_tokens.weight"), 1U);
  // Two passes through the layers, one of them with adapters.
  EXPECT_EQ(tensors(adapted, "q_proj").size(), 2 * layers);
  EXPECT_EQ(tensors(adapted, "q_proj.with_adapter").size(), layers);
}

TEST(Preference, chosen_and_rejected_answers_are_one_batch_and_only_their_tokens_are_scored) {
  const Recording made = recorded(preference_job(TrainerKind::dpo), decoder());
  const auto rows = tensors(made, "hidden.answers");
  ASSERT_EQ(rows.size(), 2U);  // Policy and reference.
  EXPECT_EQ(rows.front().shape, (Shape{2 * 3 * (tokens - prompt), width}));
  const auto tiles = tensors(made, "logits.tile");
  ASSERT_EQ(tiles.size(), 3U);  // Two forwards and one backward.
  EXPECT_EQ(tiles.front().shape, (Shape{2 * 3 * (tokens - prompt), 32768}));
  EXPECT_EQ(tensors(made, "head.weight_grad_fp32").size(), 1U);
  EXPECT_TRUE(tensors(made, "log_probabilities.all").empty());
}

TEST(Preference, a_row_without_a_prompt_is_scored_but_for_its_first_token) {
  Job job = preference_job(TrainerKind::dpo);
  job.preference.prompt = 0;
  const auto rows = tensors(recorded(job, decoder()), "hidden.answers");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().shape[0], 2 * 3 * (tokens - 1));
}

TEST(Preference, before_1_15_trl_made_all_logits) {
  Job job = preference_job(TrainerKind::dpo);
  job.preference.trl = "1.6.0";
  const Recording made = recorded(job, decoder());
  EXPECT_TRUE(tensors(made, "logits.tile").empty());
  const auto all = tensors(made, "log_probabilities.all");
  ASSERT_EQ(all.size(), 1U);  // The reference's are made row by row and let go.
  EXPECT_EQ(all.front().shape, (Shape{6, tokens - 1, vocabulary}));
  job.compute.dtype = DType::fp32;
  job.method.base = WeightFormat::fp32;
  job.compute.attention = Attention::efficient;
  EXPECT_TRUE(tensors(recorded(job, decoder()), "log_probabilities.all").empty());
}

TEST(Preference, the_reference_keeps_nothing_for_a_backward_pass) {
  const Recording made = recorded(preference_job(TrainerKind::dpo), decoder());
  for (const Event& event : made.events) {
    if (event.phase != Phase::backward || event.kind != Event::Kind::allocate) continue;
    EXPECT_FALSE(made.name_of(event.tensor).starts_with("reference")) << made.name_of(event.tensor);
  }
}

// The largest cache, and how many tensors are made while generating.
std::pair<std::uint64_t, std::size_t> generated(const Job& job) {
  const Recording made = recorded(job, decoder());
  std::uint64_t rows = 0;
  std::size_t count = 0;
  for (const Event& event : made.events) {
    if (event.phase != Phase::generate || event.kind != Event::Kind::allocate) continue;
    ++count;
    const RecordedTensor& tensor = made.tensors[event.tensor];
    if (tensor.component == Component::kv_cache)
      rows = std::max<std::uint64_t>(rows, tensor.meta.shape[0]);
  }
  return {rows, count};
}

TEST(Preference, answers_of_all_micro_batches_are_made_at_once) {
  Job job = preference_job(TrainerKind::grpo);
  job.batch.accumulate = 4;
  EXPECT_EQ(generated(job).first, 12U);
  job.preference.generation_steps = 2;
  EXPECT_EQ(generated(job).first, 6U);
  job.preference.vllm_share = 0.3;  // By another engine; what the policy thinks of them is asked.
  EXPECT_EQ(generated(job).first, 0U);
  EXPECT_GT(generated(job).second, 0U);
}

TEST(Preference, answers_are_begun_with_a_cache_also_where_training_has_checkpoints) {
  Job job = preference_job(TrainerKind::grpo);
  const auto without = generated(job);
  job.compute.checkpointing = Checkpointing::layer;
  EXPECT_EQ(generated(job), without);
}

TEST(Preference, a_group_is_compared_only_where_beta_is_not_zero) {
  Job job = preference_job(TrainerKind::grpo);
  EXPECT_EQ(loaded(recorded(job, decoder()), "embed_tokens.weight"), 1U);
  job.preference.beta = 0.04;
  EXPECT_EQ(loaded(recorded(job, decoder()), "embed_tokens.weight"), 2U);
}

TEST(Preference, what_is_no_decoder_is_refused) {
  const auto made = record_transformers(preference_job(TrainerKind::dpo),
                                        testing::model_of({{"model_type", "bert"},
                                                           {"vocab_size", 1000},
                                                           {"hidden_size", 64},
                                                           {"num_hidden_layers", 2},
                                                           {"num_attention_heads", 4},
                                                           {"intermediate_size", 128},
                                                           {"max_position_embeddings", 512}}),
                                        Device{}, 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("method.trainer"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_preference.h"

#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/engine_support.h"
#include "estimate/job_json.h"

namespace headroom::estimate {
namespace {

Result<Job> job_from(const std::string& text) {
  const auto document = parse_document("[model]\nconfig = \"m\"\n" + text);
  return document ? parse_job(*document) : Result<Job>(document.error());
}

TEST(JobPreference, pairs_have_a_prompt_and_an_answer) {
  const auto job = job_from(
      "[method]\ntrainer = \"dpo\"\nbeta = 0.1\nloss_type = \"ipo\"\n"
      "[batch]\nsequence = 1024\nmax_prompt_length = 256\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->preference.trainer, TrainerKind::dpo);
  EXPECT_EQ(job->preference.answered(job->batch.sequence), 768U);
}

TEST(JobPreference, a_row_of_grpo_is_its_prompt_and_its_answer) {
  const auto job = job_from("[method]\ntrainer = \"grpo\"\n[batch]\nmax_completion_length = 700\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  EXPECT_EQ(job->batch.sequence, 512U + 700U);
  EXPECT_EQ(job->preference.generations, 8U);
  EXPECT_EQ(job->preference.beta, 0);
  const auto defaults = job_from("[method]\ntrainer = \"grpo\"\n");
  ASSERT_TRUE(defaults.has_value());
  EXPECT_EQ(defaults->batch.sequence, 512U + 512U);
  EXPECT_FALSE(defaults->preference.vllm_share.has_value());
}

TEST(JobPreference, the_share_of_vllm_counts_where_it_is_used) {
  const auto job = job_from("[method]\ntrainer = \"grpo\"\nuse_vllm = true\n");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->preference.vllm_share, 0.3);
  const auto none = job_from(
      "[method]\ntrainer = \"grpo\"\nuse_vllm = false\nvllm_gpu_memory_utilization = 0.5\n");
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->preference.vllm_share, std::nullopt);
}

TEST(JobPreference, what_nothing_would_follow_from_is_refused) {
  for (const char* text :
       {"[method]\nbeta = 0.1\n", "[method]\nloss_type = \"sigmoid\"\n",
        "[method]\nprecompute_ref_log_probs = true\n", "[batch]\nnum_generations = 4\n",
        "[batch]\nmax_prompt_length = 4\n", "[method]\ntrainer = \"dpo\"\nuse_vllm = true\n",
        "[method]\ntrainer = \"dpo\"\nloss_type = \"dapo\"\n",
        "[method]\ntrainer = \"grpo\"\nprecompute_ref_log_probs = true\n",
        "[method]\ntrainer = \"dpo\"\nkind = \"inference\"\n",
        "[method]\ntrainer = \"dpo\"\n[batch]\nsequence = 8\nmax_prompt_length = 8\n",
        "[method]\ntrainer = \"grpo\"\n[batch]\nsequence = 9\nmax_prompt_length = 4\n"
        "max_completion_length = 4\n",
        "[method]\ntrainer = \"dpo\"\n[engine]\nkind = \"headroom\"\n"}) {
    const auto job = job_from(text);
    ASSERT_FALSE(job.has_value()) << text;
    EXPECT_FALSE(job.error().next.empty()) << text;
  }
}

TEST(JobPreference, a_loss_of_another_kind_is_refused) {
  const auto with_loss = [](const std::string& trainer) {
    return check_engine(
        *job_from("[method]\ntrainer = \"" + trainer + "\"\n[compute]\nloss = \"fused-liger\"\n"));
  };
  EXPECT_TRUE(with_loss("sft"));
  ASSERT_FALSE(with_loss("dpo"));
  EXPECT_NE(with_loss("dpo").error().message.find("loss of its own"), std::string::npos);
}

TEST(JobPreference, a_job_that_is_written_out_is_read_again) {
  const auto job = job_from(
      "[method]\ntrainer = \"grpo\"\nbeta = 0.04\n[batch]\nmax_prompt_length = 100\n"
      "max_completion_length = 300\nnum_generations = 4\nsteps_per_generation = 2\n");
  ASSERT_TRUE(job.has_value()) << job.error().message;
  Json again = to_json(*job);
  again["model"] = {{"config", "m"}};
  Document document;
  document.value = again;
  const auto read = parse_job(document);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->batch.sequence, 400U);
  EXPECT_EQ(read->preference.prompt, 100U);
  EXPECT_EQ(read->preference.generation_steps, 2U);
  EXPECT_EQ(read->preference.beta, 0.04);
}

}  // namespace
}  // namespace headroom::estimate

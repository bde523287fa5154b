// SPDX-License-Identifier: Apache-2.0
#include "estimate/plan_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> notes(const std::string& config, const std::string& job_text) {
  const auto document = parse_document("[model]\nconfig = \"x\"\n" + job_text);
  const auto job = parse_job(*document);
  EXPECT_TRUE(job) << (job ? "" : job.error().message);
  const auto model = parse_architecture(*parse_json(config));
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  if (!job || !model) return {};
  Plan plan;
  plan.job = *job;
  plan.job.compute.attention = Attention::eager;
  note_model(*job, plan.job, *model, Device{}, plan);
  return plan.notes;
}

const std::string sizes = R"("hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
    "num_attention_heads": 4)";
const std::string infers = "[method]\nkind = \"inference\"\n";

TEST(PlanNotes, mamba2_says_that_its_kernels_take_less_and_what_peft_refuses) {
  const std::string lora = "[method]\nkind = \"lora\"\ntargets = \"all-linear\"\n";
  const auto config = [](const std::string& family) {
    return R"({"model_type": ")" + family + R"(", "vocab_size": 100, "mamba_n_heads": 4,
        "num_heads": 4, "head_dim": 32, "mamba_d_ssm": 128, )" +
           sizes + "}";
  };
  EXPECT_THAT(notes(config("bamba"), lora), Contains(HasSubstr("mamba-ssm")));
  EXPECT_THAT(notes(config("bamba"), lora), Not(Contains(HasSubstr("PEFT refuses"))));
  EXPECT_THAT(notes(config("falcon_h1"), lora),
              Contains(HasSubstr("PEFT refuses all-linear for falcon_h1")));
}

TEST(PlanNotes, an_encoder_generates_nothing_and_says_so) {
  const std::string bert =
      "{\"model_type\": \"bert\", \"vocab_size\": 100, \"max_position_embeddings\": 64, " + sizes +
      "}";
  const std::string generate = infers + "[batch]\nsequence = 16\ngenerate = 8\n";
  EXPECT_THAT(notes(bert, generate), Contains(HasSubstr("bert generates nothing")));
  EXPECT_THAT(notes(bert, infers + "[batch]\nsequence = 16\n"), IsEmpty());
  const std::string llama = "{\"model_type\": \"llama\", \"vocab_size\": 100, " + sizes + "}";
  EXPECT_THAT(notes(llama, generate), IsEmpty());
  EXPECT_THAT(notes(llama, "[batch]\nsequence = 16\nprompt = 8\n"),
              Contains(HasSubstr("training does not read them")));
}

TEST(PlanNotes, images_have_no_prompt) {
  const std::string vit =
      "{\"model_type\": \"vit\", \"image_size\": 32, \"patch_size\": 16, " + sizes + "}";
  EXPECT_THAT(notes(vit, infers + "[batch]\nsequence = 16\nprompt = 8\n"),
              Contains(HasSubstr("given images and no tokens")));
}

TEST(PlanNotes, a_family_that_older_classes_were_not_tried_of_is_called_unproven) {
  const std::string mamba =
      "{\"model_type\": \"mamba\", \"vocab_size\": 100, \"hidden_size\": 64, "
      "\"num_hidden_layers\": 1}";
  EXPECT_THAT(notes(mamba, "[engine]\nkind = \"transformers\"\ntransformers = \"4.57.1\"\n"),
              Contains(HasSubstr("Unproven: mamba was compared with transformers 5.23")));
  EXPECT_THAT(notes(mamba, "[engine]\nkind = \"transformers\"\ntransformers = \"5.23.0\"\n"),
              IsEmpty());
}

TEST(PlanNotes, adapters_on_experts_are_called_unproven) {
  const std::string mixtral = "{\"model_type\": \"mixtral\", \"vocab_size\": 100, " + sizes + "}";
  const std::string lora = "[method]\nkind = \"lora\"\n";
  const std::string mixture = mixtral.substr(0, mixtral.size() - 1) + ", \"num_local_experts\": 4}";
  EXPECT_THAT(notes(mixture, lora), Contains(HasSubstr("adapters on the matrices of all experts")));
  EXPECT_THAT(notes(mixture, lora + "targets = [\"q\", \"v\"]\n"), IsEmpty());
}

TEST(PlanNotes, a_preference_job_says_what_was_assumed_and_what_was_not_compared) {
  const std::string llama = "{\"model_type\": \"llama\", \"vocab_size\": 100, " + sizes + "}";
  const std::string pairs = "[method]\ntrainer = \"dpo\"\n";
  const std::string prompt = "[batch]\nmax_prompt_length = 64\n";
  EXPECT_THAT(notes(llama, pairs), Contains(HasSubstr("taken for its answer")));
  EXPECT_THAT(notes(llama, pairs + prompt), IsEmpty());
  EXPECT_THAT(notes(llama, pairs + prompt + "[engine]\ntrl = \"0.24\"\n"),
              Contains(HasSubstr("Unproven: TRL 0.24")));
  EXPECT_THAT(notes(llama, pairs + prompt + "[engine]\ntrl = \"1.6.0\"\n"), IsEmpty());
  const std::string group = "[method]\ntrainer = \"grpo\"\nuse_vllm = true\n";
  EXPECT_THAT(notes(llama, group + "[batch]\nmicro = 8\n"),
              Contains(HasSubstr("Unproven: vLLM on the same card takes 0.3 of it")));
  EXPECT_THAT(notes(llama, group + "[batch]\nmicro = 4\n"),
              Contains(HasSubstr("no multiple of num_generations")));
}

TEST(PlanNotes, targets_by_name_miss_modules_of_a_hybrid_and_the_answer_says_which) {
  const std::string next =
      R"({"model_type": "qwen3_next", "vocab_size": 100, "head_dim": 16, "num_experts": 8,
          "num_experts_per_tok": 2, "moe_intermediate_size": 32, )" +
      sizes + "}";
  const std::string lora = "[method]\nkind = \"lora\"\n";
  EXPECT_THAT(notes(next, lora + "targets = [\"q\"]\n"),
              Contains(HasSubstr("linear attention as")));
  EXPECT_THAT(notes(next, lora + "targets = \"all-linear\"\n"),
              Not(Contains(HasSubstr("named one by one"))));
}

}  // namespace
}  // namespace headroom::estimate

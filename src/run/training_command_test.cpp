// SPDX-License-Identifier: Apache-2.0
#include "run/training_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace headroom::run {
namespace {

Result<TrainingCommand> read(const std::string& line) {
  std::vector<std::string> words;
  for (const auto word : split_words(line)) words.emplace_back(word);
  return parse_training_command(words);
}

TEST(TrainingCommand, takes_each_key_from_its_argument_and_says_so) {
  const auto command = read(
      "accelerate launch --num_processes 1 train.py --model_name_or_path Qwen/Qwen2.5-0.5B "
      "--per-device-train-batch-size=4 --gradient_checkpointing --bf16 True --use_peft --lora_r 8 "
      "--lora_target_modules q_proj v_proj --learning_rate 1e-4");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["model"]["name"], "Qwen/Qwen2.5-0.5B");
  EXPECT_EQ(keys["batch"]["micro"], 4);
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["compute"]["autocast"], true);
  EXPECT_EQ(keys["method"]["base"], "fp32");
  EXPECT_EQ(keys["method"]["rank"], 8);
  EXPECT_EQ(keys["method"]["targets"], Json({"q_proj", "v_proj"}));
  const std::string notes = join(command->notes, "\n");
  EXPECT_NE(notes.find("batch.micro = 4 from --per-device-train-batch-size"), std::string::npos);
  EXPECT_NE(notes.find("Ignored: --learning_rate."), std::string::npos);
  EXPECT_NE(notes.find("for the launcher: --num_processes"), std::string::npos);
  EXPECT_NE(notes.find("1024 tokens"), std::string::npos);
}

TEST(TrainingCommand, the_last_of_two_holds) {
  const auto command = read("python t.py --model_name_or_path a --max_length 64 --max_length 32");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags.keys["batch"]["sequence"], 32);
  EXPECT_EQ(command->flags.keys["method"]["kind"], "full");
}

TEST(TrainingCommand, what_peft_takes_by_itself_is_assumed_and_said) {
  const auto command = read("python t.py --model_name_or_path a --use_peft");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags.keys["method"]["targets"], Json({"q", "v"}));
  EXPECT_EQ(command->flags.keys["method"]["rank"], 16);
  EXPECT_NE(join(command->notes, "\n").find("adapters on q and v"), std::string::npos);
}

TEST(TrainingCommand, an_option_without_a_name_is_none) {
  EXPECT_FALSE(read("python t.py --model_name_or_path a --bf16 --= ---x").has_value());
  EXPECT_TRUE(read("python t.py --= -- --model_name_or_path a").has_value());
}

TEST(TrainingCommand, what_cannot_be_read_is_an_error_never_a_guess) {
  for (const char* line :
       {"python",
        "python -m",
        "python t.py",
        "python t.py --model_name_or_path",
        "python t.py --model_name_or_path a --per_device_train_batch_size four",
        "python t.py --model_name_or_path a --per_device_train_batch_size -1",
        "python t.py --model_name_or_path a --bf16 perhaps",
        "python t.py --model_name_or_path a --torch_dtype auto",
        "python t.py --config /nowhere/sft.yaml",
        "axolotl train",
        "axolotl train /nowhere/config.yml",
        "axolotl preprocess c.yml",
        "llamafactory-cli train --model_name_or_path a --stage kto",
        "llamafactory-cli train --model_name_or_path a --stage dpo --pref_loss orpo",
        "llamafactory-cli train --model_name_or_path a --quantization_bit 3",
        "llamafactory-cli chat --model_name_or_path a",
        "trl kto --model_name_or_path a",
        "python train_orpo.py --model_name_or_path a",
        "python t.py --model_name_or_path a --lora_target_modules",
        "python t.py --model_name_or_path a --deepspeed zero.json",
        "accelerate launch --use_fsdp t.py --model_name_or_path a"})
    EXPECT_FALSE(read(line).has_value()) << line;
}

TEST(TrainingCommand, pairs_of_answers_are_told_by_the_command_the_script_or_its_arguments) {
  for (const char* line :
       {"trl dpo --model_name_or_path a --max_length 768 --max_prompt_length 128",
        "accelerate launch train_dpo.py --model_name_or_path a --max_length 768 "
        "--max_prompt_length 128 --loss_type ipo",
        "python t.py --model_name_or_path a --beta 0.1 --max_length 768 --max_prompt_length 128"}) {
    const auto command = read(line);
    ASSERT_TRUE(command.has_value()) << line << ": " << command.error().message;
    const Json& keys = command->flags.keys;
    EXPECT_EQ(keys["method"]["trainer"], "dpo") << line;
    EXPECT_EQ(keys["batch"]["sequence"], 768) << line;
    EXPECT_EQ(keys["batch"]["max_prompt_length"], 128) << line;
    EXPECT_EQ(keys["compute"]["checkpointing"], "layer") << line;
    EXPECT_EQ(keys["compute"]["autocast"], true) << line;
    EXPECT_FALSE(keys["compute"].contains("keep_outputs")) << line;
  }
  const auto precomputed =
      read("trl dpo --model_name_or_path a --precompute_ref_log_probs --use_peft");
  ASSERT_TRUE(precomputed.has_value());
  EXPECT_EQ(precomputed->flags.keys["method"]["precompute_ref_log_probs"], true);
  EXPECT_EQ(precomputed->flags.keys["batch"]["sequence"], 1024);
}

TEST(TrainingCommand, answers_that_the_model_makes_have_their_own_lengths) {
  const auto command = read(
      "python grpo.py --model_name_or_path a --num_generations 4 --max_completion_length 300 "
      "--beta 0.04 --use_vllm --vllm_gpu_memory_utilization 0.25");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["method"]["trainer"], "grpo");
  EXPECT_EQ(keys["method"]["beta"], 0.04);
  EXPECT_EQ(keys["method"]["use_vllm"], true);
  EXPECT_EQ(keys["method"]["vllm_gpu_memory_utilization"], 0.25);
  EXPECT_EQ(keys["batch"]["max_completion_length"], 300);
  EXPECT_EQ(keys["batch"]["max_prompt_length"], 512);
  EXPECT_EQ(keys["batch"]["num_generations"], 4);
  EXPECT_FALSE(keys["batch"].contains("sequence"));
  const auto supervised = read("trl sft --model_name_or_path a --loss_type dft --beta 1");
  ASSERT_TRUE(supervised.has_value());
  EXPECT_FALSE(supervised->flags.keys["method"].contains("trainer"));
  EXPECT_FALSE(supervised->flags.keys["method"].contains("beta"));
}

TEST(TrainingCommand, recipes_of_pairs_are_read) {
  const auto factory =
      read("llamafactory-cli train --model_name_or_path a --stage dpo --pref_loss sigmoid");
  ASSERT_TRUE(factory.has_value()) << factory.error().message;
  EXPECT_EQ(factory->flags.keys["method"]["trainer"], "dpo");
  EXPECT_EQ(factory->flags.keys["engine"]["trl"], "0.24");
}

// A recipe in a folder of its own.
class Recipe {
 public:
  explicit Recipe(const std::string& text) {
    std::string pattern = testing::TempDir() + "headroom-recipe-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "recipe.yml") << text;
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  ~Recipe() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "recipe.yml"; }

 private:
  std::filesystem::path folder_;
};

// What is read of the recipe by the command, in which it stands for "FILE".
Result<TrainingCommand> read_recipe_by(const std::string& line, const std::string& text) {
  const Recipe recipe(text);
  std::vector<std::string> words;
  for (const auto word : split_words(line))
    words.push_back(word == "FILE" ? recipe.path() : std::string(word));
  return parse_training_command(words);
}

TEST(TrainingCommand, an_axolotl_recipe_of_adapters_over_eight_bits) {
  const auto command = read_recipe_by("axolotl train FILE --micro-batch-size 4", R"(
base_model: some/Model-8B
load_in_8bit: true
load_in_4bit: false
adapter: lora
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
lora_modules_to_save:
  - embed_tokens
  - score
plugins:
  - axolotl.integrations.liger.LigerPlugin
liger_rope: true
liger_glu_activation: true
datasets:
  - path: some/data
    type: alpaca
sequence_len: 4096
gradient_accumulation_steps: 4
micro_batch_size: 2
bf16: auto
gradient_checkpointing: true
flash_attention: true
optimizer: adamw_bnb_8bit
resume_from_checkpoint:
a_key_of_tomorrow: 1
)");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["model"]["name"], "some/Model-8B");
  EXPECT_EQ(keys["method"], Json({{"kind", "qlora"},
                                  {"base", "int8"},
                                  {"rank", 32},
                                  {"alpha", 16},
                                  {"dropout", 0.05},
                                  {"targets", "all-linear"},
                                  {"modules_to_save", {"embed_tokens"}}}));
  EXPECT_EQ(keys["batch"], Json({{"micro", 4}, {"sequence", 4096}, {"accumulate", 4}}));
  EXPECT_EQ(keys["compute"]["dtype"], "bf16");
  EXPECT_EQ(keys["compute"]["autocast"], true);
  EXPECT_EQ(keys["compute"]["attention"], "flash_attention_2");
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["compute"]["use_liger_kernel"], true);
  EXPECT_EQ(keys["compute"]["liger_kernel_config"]["swiglu"], true);
  EXPECT_EQ(keys["compute"]["liger_kernel_config"]["rms_norm"], false);
  const std::string notes = join(command->notes, "\n");
  EXPECT_NE(notes.find("memory depends on it: lora_modules_to_save: score."), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("Ignored: a_key_of_tomorrow."), std::string::npos) << notes;
  EXPECT_NE(notes.find("batch.micro = 4 from --micro-batch-size"), std::string::npos) << notes;
}

TEST(TrainingCommand, axolotl_trains_a_whole_model_with_wide_embeddings) {
  const auto command =
      read_recipe_by("accelerate launch -m axolotl.cli.train FILE", "base_model: some/model\n");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["method"], Json({{"kind", "full"}, {"base", "bf16"}}));
  EXPECT_EQ(keys["compute"]["embeddings"], "fp32");
  EXPECT_EQ(keys["compute"]["checkpointing"], "none");
  EXPECT_EQ(keys["optimizer"]["kind"], "adamw_torch_fused");
  EXPECT_EQ(keys["batch"], Json({{"micro", 1}, {"sequence", 512}}));
}

TEST(TrainingCommand, a_llama_factory_recipe) {
  const auto command =
      read_recipe_by("FORCE_TORCHRUN=1 llamafactory-cli train FILE lora_rank=16", R"(
model_name_or_path: some/Model-4B   # a comment
stage: sft
finetuning_type: lora
lora_rank: 8
lora_target: q_proj,v_proj
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
bf16: true
flash_attn: fa2
resume_from_checkpoint: null
)");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["method"], Json({{"kind", "lora"},
                                  {"base", "bf16"},
                                  {"rank", 16},
                                  {"targets", Json({"q_proj", "v_proj"})}}));
  EXPECT_EQ(keys["batch"], Json({{"micro", 1}, {"sequence", 1024}, {"accumulate", 8}}));
  EXPECT_EQ(keys["compute"]["autocast"], true);
  EXPECT_EQ(keys["compute"]["attention"], "flash_attention_2");
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(join(command->notes, "\n").find("Not read"), std::string::npos);
}

TEST(TrainingCommand, what_llama_factory_trains_is_wide_and_what_it_freezes_is_not) {
  struct Case {
    const char* arguments;
    const char* base;
    const char* dtype;
    bool autocast;
  };
  for (const Case& one : {Case{"--finetuning_type full --bf16 true", "fp32", "bf16", true},
                          Case{"--finetuning_type full --pure_bf16 true", "bf16", "bf16", false},
                          Case{"--finetuning_type full", "fp32", "fp32", false},
                          Case{"--finetuning_type lora --fp16", "fp16", "fp16", true},
                          Case{"", "bf16", "bf16", false},
                          Case{"--quantization_bit 4 --bf16", "nf4", "bf16", true}}) {
    const auto command =
        read(std::string("llamafactory-cli train --model_name_or_path a ") + one.arguments);
    ASSERT_TRUE(command.has_value()) << one.arguments << ": " << command.error().message;
    const Json& keys = command->flags.keys;
    EXPECT_EQ(keys["method"]["base"], one.base) << one.arguments;
    EXPECT_EQ(keys["compute"]["dtype"], one.dtype) << one.arguments;
    EXPECT_EQ(keys["compute"].value("autocast", false), one.autocast) << one.arguments;
  }
}

TEST(TrainingCommand, trls_own_program_has_its_defaults_and_its_recipe) {
  const auto command = read_recipe_by("trl sft --config FILE --per_device_train_batch_size 2",
                                      "model_name_or_path: some/model\nuse_peft: true\n"
                                      "per_device_train_batch_size: 16\n");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["batch"], Json({{"micro", 2}, {"sequence", 1024}}));
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["compute"]["dtype"], "bf16");
  EXPECT_EQ(keys["compute"]["autocast"], true);
  EXPECT_EQ(keys["method"]["base"], "fp32");
  EXPECT_EQ(keys["method"]["dropout"], 0.05);
}

TEST(TrainingWords, a_change_is_said_as_its_program_says_it) {
  estimate::Change split;
  split.micro = 1;
  split.accumulate = 8;
  split.checkpointing = estimate::Checkpointing::layer;
  EXPECT_EQ(to_words(split, TrainingProgram::script, false),
            "--per_device_train_batch_size 1 --gradient_accumulation_steps 8 "
            "--gradient_checkpointing true");
  EXPECT_EQ(to_words(split, TrainingProgram::axolotl, true),
            "micro_batch_size: 1, gradient_accumulation_steps: 8, gradient_checkpointing: true");
  EXPECT_EQ(to_words(split, TrainingProgram::llama_factory, true),
            "per_device_train_batch_size: 1, gradient_accumulation_steps: 8, "
            "disable_gradient_checkpointing: false");
  estimate::Change four;
  four.method = estimate::MethodKind::qlora;
  four.base = estimate::WeightFormat::nf4;
  four.residual = estimate::DType::bf16;
  EXPECT_EQ(to_words(four, TrainingProgram::llama_factory, true),
            "finetuning_type: lora, quantization_bit: 4");
  EXPECT_EQ(to_words(four, TrainingProgram::axolotl, true), "adapter: qlora, load_in_4bit: true");
}

TEST(TrainingWords, what_a_program_has_no_setting_for_is_said_as_a_job_says_it) {
  estimate::Change change;
  change.loss = estimate::Loss::fused_liger;
  change.norm = estimate::NormKernel::fused;
  change.offload = true;
  EXPECT_EQ(to_words(change, TrainingProgram::trl, false),
            "--use_liger_kernel true and [optimizer] offload = true");
  EXPECT_EQ(to_words(change, TrainingProgram::axolotl, true),
            "[compute] loss = \"fused-liger\", norm = \"fused\" and [optimizer] offload = true");
}

TEST(TrainingCommand, autocast_over_weights_of_its_own_type_is_still_autocast) {
  const auto command = read("python t.py --model_name_or_path a --dtype bfloat16 --bf16");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags.keys["compute"]["autocast"], true);
  EXPECT_EQ(command->flags.keys["method"]["base"], "bf16");
}

TEST(TrainingCommand, an_axolotl_recipe_of_pairs) {
  const auto command =
      read_recipe_by("axolotl train FILE", "base_model: a\nrl: dpo\nsequence_len: 2048\n");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  EXPECT_EQ(command->flags.keys["method"]["trainer"], "dpo");
  EXPECT_EQ(command->flags.keys["batch"]["sequence"], 2048);
}

TEST(TrainingCommand, a_recipe_is_never_half_read) {
  for (const char* text :
       {"", "- a list\n", "base_model: [\n", "base_model: a\nlora_r: many\n", "lora_r: 8\n",
        "base_model: a\nadapter: llama-adapter\n", "base_model: a\nadapter: lora\n",
        "base_model: a\nrl: orpo\n", "base_model: a\ndeepspeed: zero3.json\n",
        "base_model: a\nfsdp_config:\n  x: 1\n", "base_model: a\nbase_model: b\n"}) {
    const auto command = read_recipe_by("axolotl train FILE", text);
    ASSERT_FALSE(command.has_value()) << text;
    EXPECT_NE(command.error().message.find("recipe.yml"), std::string::npos)
        << command.error().message;
    EXPECT_FALSE(command.error().next.empty()) << command.error().message;
  }
}

}  // namespace
}  // namespace headroom::run

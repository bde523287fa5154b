// SPDX-License-Identifier: Apache-2.0
#include "run/trainer_command.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace headroom::run {
namespace {

Result<TrainerCommand> read(const std::string& line) {
  std::vector<std::string> words;
  for (const auto word : split_words(line)) words.emplace_back(word);
  return parse_trainer_command(words);
}

TEST(TrainerCommand, takes_each_key_from_its_argument_and_says_so) {
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
  EXPECT_NE(notes.find("Not read: --learning_rate."), std::string::npos);
  EXPECT_NE(notes.find("the launcher's: --num_processes"), std::string::npos);
  EXPECT_NE(notes.find("1024 tokens"), std::string::npos);
}

TEST(TrainerCommand, the_last_of_two_holds) {
  const auto command = read("python t.py --model_name_or_path a --max_length 64 --max_length 32");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags.keys["batch"]["sequence"], 32);
  EXPECT_EQ(command->flags.keys["method"]["kind"], "full");
}

TEST(TrainerCommand, what_peft_takes_by_itself_is_assumed_and_said) {
  const auto command = read("python t.py --model_name_or_path a --use_peft");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags.keys["method"]["targets"], Json({"q", "v"}));
  EXPECT_EQ(command->flags.keys["method"]["rank"], 16);
  EXPECT_NE(join(command->notes, "\n").find("adapters on q and v"), std::string::npos);
}

TEST(TrainerCommand, an_option_without_a_name_is_none) {
  EXPECT_FALSE(read("python t.py --model_name_or_path a --bf16 --= ---x").has_value());
  EXPECT_TRUE(read("python t.py --= -- --model_name_or_path a").has_value());
}

TEST(TrainerCommand, what_cannot_be_read_is_an_error_never_a_guess) {
  for (const char* line : {"python", "python -m", "python t.py", "python t.py --model_name_or_path",
                           "python t.py --model_name_or_path a --per_device_train_batch_size four",
                           "python t.py --model_name_or_path a --per_device_train_batch_size -1",
                           "python t.py --model_name_or_path a --bf16 perhaps",
                           "python t.py --model_name_or_path a --torch_dtype auto",
                           "python t.py --model_name_or_path a --lora_target_modules",
                           "python t.py --model_name_or_path a --deepspeed zero.json",
                           "accelerate launch --use_fsdp t.py --model_name_or_path a"})
    EXPECT_FALSE(read(line).has_value()) << line;
}

}  // namespace
}  // namespace headroom::run

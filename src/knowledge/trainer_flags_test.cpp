// SPDX-License-Identifier: Apache-2.0
#include "knowledge/trainer_flags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::knowledge {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(line)) words.emplace_back(word);
  return words;
}

const TrainerFlags& table() {
  static const TrainerFlags flags = *load_trainer_flags();
  return flags;
}

std::string recognised(std::string_view line) {
  const auto command = recognise(table(), words_of(line));
  return command ? command->trainer->id : "";
}

// The word that is the micro-batch; empty if none is.
std::string micro_in(std::string_view line) {
  const auto words = words_of(line);
  const auto command = recognise(table(), words);
  if (!command) return "";
  const auto place = find_flag(words, command->arguments, command->trainer->micro);
  return place ? words[place->word].substr(place->begin) : "";
}

TEST(TrainerFlags, the_table_is_right_and_names_its_sources) {
  const auto flags = load_trainer_flags();
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_GE(flags->trainers.size(), 9U);
  for (const Trainer& trainer : flags->trainers) {
    EXPECT_FALSE(trainer.origin.source.empty()) << trainer.id;
    EXPECT_FALSE(trainer.unit.empty()) << trainer.id;
    // What shrinks to half is no batch, so that nothing accumulates.
    EXPECT_EQ(trainer.shrink == Shrink::half, trainer.accumulate.empty()) << trainer.id;
  }
}

TEST(TrainerFlags, no_name_is_the_same_setting_twice) {
  for (const Trainer& trainer : table().trainers) {
    std::vector<std::string> names;
    for (const auto* list : {&trainer.micro, &trainer.accumulate, &trainer.resume}) {
      names.insert(names.end(), list->begin(), list->end());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << trainer.id;
  }
}

TEST(TrainerFlags, words_added_on_resume_are_names_of_resume) {
  for (const Trainer& trainer : table().trainers) {
    if (trainer.resume_with.empty()) continue;
    EXPECT_TRUE(has_flag(trainer.resume_with, 0, trainer.resume)) << trainer.id;
  }
}

TEST(TrainerFlags, commands_of_each_trainer_are_recognised) {
  EXPECT_EQ(recognised("python train.py --per_device_train_batch_size 8"), "transformers");
  EXPECT_EQ(recognised("python3 run_clm.py --per_device_train_batch_size=8"), "transformers");
  EXPECT_EQ(recognised("accelerate launch train.py --per-device-train-batch-size 8"),
            "transformers");
  EXPECT_EQ(recognised("torchrun --nproc_per_node 2 train.py --batch-size 8"), "script");
  EXPECT_EQ(recognised("/opt/v/bin/llamafactory-cli train a.yaml"), "llama-factory");
  EXPECT_EQ(recognised("axolotl train config.yml --micro-batch-size 2"), "axolotl");
  EXPECT_EQ(recognised("accelerate launch -m axolotl.cli.train config.yml"), "axolotl");
  EXPECT_EQ(recognised("tune run full_finetune_single_device --config my.yaml"), "torchtune");
  EXPECT_EQ(recognised("tune run lora_finetune_distributed --config llama3/8B_lora"),
            "torchtune-recipe");
  EXPECT_EQ(recognised("./build/bin/llama-server -m x.gguf -ngl 40 -c 8192"), "llama.cpp");
  EXPECT_EQ(recognised("llama-cli -m x.gguf -c 8192"), "llama.cpp-context");
  EXPECT_EQ(recognised("accelerate launch train_dreambooth.py --train_batch_size=4"), "diffusers");
}

TEST(TrainerFlags, what_only_looks_like_one_is_not_recognised) {
  EXPECT_EQ(recognised(""), "");
  EXPECT_EQ(recognised("python train.py"), "");
  EXPECT_EQ(recognised("llamafactory-cli chat a.yaml"), "");
  EXPECT_EQ(recognised("tune download meta-llama/Llama-3-8B"), "");
  EXPECT_EQ(recognised("python -c print(1)"), "");
  EXPECT_EQ(recognised("axolotl fetch examples"), "");
}

TEST(TrainerFlags, every_form_of_a_value_is_found_and_the_last_one_holds) {
  EXPECT_EQ(micro_in("python t.py --per_device_train_batch_size 8"), "8");
  EXPECT_EQ(micro_in("python t.py --per_device_train_batch_size=8"), "8");
  EXPECT_EQ(micro_in("tune run r --config c batch_size=4"), "4");
  EXPECT_EQ(micro_in("python t.py --batch_size 8 --batch_size 16"), "16");
  EXPECT_EQ(micro_in("python t.py --batch_size 8 --batch-size=16"), "16");
  EXPECT_EQ(micro_in("python t.py --batch_size"), "");
  EXPECT_EQ(micro_in("python t.py --batch_sizes 8"), "");
}

TEST(TrainerFlags, options_of_a_launcher_are_not_those_of_its_script) {
  const std::string line =
      "accelerate launch --gradient_accumulation_steps 2 train.py --per_device_train_batch_size 8";
  const auto words = words_of(line);
  const auto command = recognise(table(), words);
  ASSERT_TRUE(command.has_value());
  EXPECT_FALSE(find_flag(words, command->arguments, command->trainer->accumulate).has_value());
  EXPECT_EQ(micro_in("torchrun --batch_size 3 train.py --batch_size 8"), "8");
}

TEST(TrainerFlags, the_configuration_file_of_a_command_is_named) {
  const auto file_of = [](std::string_view line) {
    return recognise(table(), words_of(line))->file.value_or("");
  };
  EXPECT_EQ(file_of("llamafactory-cli train a/b.yaml output_dir=x.yaml"), "a/b.yaml");
  EXPECT_EQ(file_of("tune run r --config=my.yaml epochs=1"), "my.yaml");
  EXPECT_EQ(file_of("axolotl train c.yml"), "c.yml");
  EXPECT_EQ(file_of("tune run r --config llama3/8B_full"), "");
}

TEST(TrainerFlags, a_file_has_a_name_with_underscores) {
  EXPECT_EQ(file_key("--micro-batch-size"), "micro_batch_size");
  EXPECT_EQ(file_key("batch_size"), "batch_size");
}

TEST(TrainerFlags, mistakes_name_their_line) {
  const std::string good =
      "[[trainer]]\nid = \"x\"\nname = \"X\"\nprograms = [\"x\"]\nmicro = [\"--m\"]\n"
      "shrink = \"half\"\nunit = \"u\"\ncertainty = \"A\"\nsource = \"s\"\n";
  ASSERT_TRUE(parse_trainer_flags(good).has_value()) << parse_trainer_flags(good).error().message;
  for (const std::string& bad :
       {good + "known_by = [\"--other\"]\n", good + "append = [\"accumulate\"]\n", good + good,
        good + "more = 1\n", good + "defaults = { micro = 0 }\n"}) {
    const auto parsed = parse_trainer_flags(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_NE(parsed.error().message.find("line "), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace headroom::knowledge

// SPDX-License-Identifier: Apache-2.0
#include "supervisor/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "base/text.h"

namespace headroom::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const knowledge::TrainerFlags& flags() {
  static const knowledge::TrainerFlags table = *knowledge::load_trainer_flags();
  return table;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(line)) words.emplace_back(word);
  return words;
}

CommandTemplate make(std::string_view line, const std::string& settings = "",
                     const std::optional<FileValues>& file = std::nullopt) {
  const Settings given = settings.empty() ? Settings{} : *parse_settings(settings);
  return *CommandTemplate::make(words_of(line), given, flags(), file);
}

std::string line_of(const CommandTemplate& command, const Settings& settings, bool resumes) {
  return join(command.fill_in(settings, resumes), " ");
}
std::string first(const CommandTemplate& command) {
  return line_of(command, command.initial(), false);
}
// After one out of memory.
std::string second(const CommandTemplate& command) {
  const auto less = command.smaller(command.initial());
  return less ? line_of(command, *less, true) : "none";
}

TEST(Settings, are_parsed) {
  const auto settings =
      parse_settings("micro=8,accumulate=4,resume=--resume_from_checkpoint 'last one'");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->micro, 8U);
  EXPECT_EQ(settings->accumulate, 4U);
  EXPECT_THAT(settings->resume, ElementsAre("--resume_from_checkpoint", "last one"));
}

TEST(Settings, a_comma_in_the_words_of_resume_stays) {
  const auto settings = parse_settings("resume=--load a,b --x=1,micro=2");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_THAT(settings->resume, ElementsAre("--load", "a,b", "--x=1"));
  EXPECT_EQ(settings->micro, 2U);
}

TEST(Settings, mistakes_name_the_word_that_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", "found \"\""},
      {"micro=0", "micro: expected a whole number from 1"},
      {"micro=-1", "\"-1\""},
      {"micro=4.5", "\"4.5\""},
      {"micro=4294967296", "\"4294967296\""},
      {"micro=99999999999999999999999", "\"99999999999999999999999\""},
      {"micro=", "found \"\""},
      {"micro=4,micro=8", "micro twice"},
      {"micr=4", "did you mean micro"},
      {"resume=--x,micr=4", "did you mean micro"},
      {"batch=4", "\"batch=4\""},
      {"resume=", "expected words"},
      {"resume=--load $HOME/x", "\"$HOME/x\""},
      {"resume=--load x; rm -r y", "\";\""},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto settings = parse_settings(text);
    ASSERT_FALSE(settings.has_value()) << text;
    EXPECT_THAT(settings.error().message, HasSubstr(expected)) << text;
    EXPECT_FALSE(settings.error().next.empty());
  }
}

TEST(Settings, micro_becomes_its_largest_divisor_of_at_most_half) {
  const auto after = [](std::uint64_t micro, std::uint64_t accumulate) {
    const auto less = smaller({micro, accumulate, {}});
    return less ? std::pair(*less->micro, *less->accumulate)
                : std::pair<std::uint64_t, std::uint64_t>{};
  };
  EXPECT_EQ(after(8, 1), std::pair(4UL, 2UL));
  EXPECT_EQ(after(6, 5), std::pair(3UL, 10UL));
  EXPECT_EQ(after(9, 1), std::pair(3UL, 3UL));
  EXPECT_EQ(after(7, 2), std::pair(1UL, 14UL));
  EXPECT_EQ(after(2, 1), std::pair(1UL, 2UL));
  EXPECT_EQ(after(4294967291, 1), std::pair(1UL, 4294967291UL));  // The largest prime of 32 bits.
  EXPECT_FALSE(smaller({1, 4, {}}).has_value());
  EXPECT_FALSE(smaller({std::nullopt, 4, {}}).has_value());
  EXPECT_FALSE(smaller({0, 4, {}}).has_value());
  EXPECT_FALSE(smaller({largest_setting + 1, 1, {}}).has_value());
}

TEST(Settings, an_accumulation_that_would_overflow_is_none) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(smaller({8, most / 2 + 1, {}}).has_value());
  EXPECT_TRUE(smaller({8, most / 2, {}}).has_value());
}

TEST(Settings, half_is_plain_halving) {
  const auto half = knowledge::Shrink::half;
  EXPECT_EQ(smaller({33, std::nullopt, {}}, half)->micro, 16U);
  EXPECT_FALSE(smaller({1, std::nullopt, {}}, half).has_value());
}

RC_GTEST_PROP(Settings, shrinking_keeps_the_samples_of_a_step_and_ends, ()) {
  Settings settings;
  settings.micro = *rc::gen::inRange<std::uint64_t>(1, 100'000);
  settings.accumulate = *rc::gen::inRange<std::uint64_t>(1, 100'000);
  const std::uint64_t product = *settings.micro * *settings.accumulate;
  while (const auto less = smaller(settings)) {
    RC_ASSERT(*less->micro * 2 <= *settings.micro);
    RC_ASSERT(*less->micro * *less->accumulate == product);
    for (std::uint64_t better = *less->micro + 1; better * 2 <= *settings.micro; ++better) {
      RC_ASSERT(*settings.micro % better != 0);
    }
    settings = *less;
  }
  RC_ASSERT(settings.micro == 1U);
}

TEST(CommandTemplate, placeholders_are_filled_in_also_inside_of_words) {
  const auto command = make("t.sh --batch={micro} x{micro}y{accumulate} {resume} end",
                            "micro=8,accumulate=2,resume=--resume last");
  EXPECT_TRUE(command.takes_micro());
  EXPECT_TRUE(command.keeps_step());
  EXPECT_EQ(first(command), "t.sh --batch=8 x8y2 end");
  EXPECT_EQ(second(command), "t.sh --batch=4 x4y4 --resume last end");
}

TEST(CommandTemplate, a_resume_inside_of_a_word_is_text) {
  const auto command = make("t.sh --from={resume}", "resume=last");
  EXPECT_EQ(first(command), "t.sh --from=");
  EXPECT_EQ(line_of(command, command.initial(), true), "t.sh --from=last");
}

TEST(CommandTemplate, other_braces_stay_and_fillings_are_not_filled_again) {
  const auto command = make("t.sh {} {x} {{micro}} ${HOME} {resume}", "micro=3,resume={micro}");
  EXPECT_EQ(line_of(command, command.initial(), true), "t.sh {} {x} {3} ${HOME} {micro}");
}

TEST(CommandTemplate, a_placeholder_without_a_value_is_a_mistake_but_for_accumulate) {
  for (const char* line : {"t.sh {micro}", "t.sh --batch={micro}"}) {
    const auto made = CommandTemplate::make(words_of(line), {}, flags());
    ASSERT_FALSE(made.has_value()) << line;
    EXPECT_THAT(made.error().next, HasSubstr("--settings"));
  }
  EXPECT_EQ(second(make("t.sh {micro} {accumulate}", "micro=8")), "t.sh 4 2");
}

TEST(CommandTemplate, a_resume_without_a_value_is_nothing_on_every_attempt) {
  const auto command = make("t.sh {micro} {resume} end", "micro=8");
  EXPECT_EQ(first(command), "t.sh 8 end");
  EXPECT_EQ(second(command), "t.sh 4 end");
}

TEST(CommandTemplate, known_flags_are_found_changed_and_appended) {
  const auto command = make("python t.py --per_device_train_batch_size 8 --fp16");
  EXPECT_EQ(command.initial().micro, 8U);
  EXPECT_EQ(command.initial().accumulate, 1U);
  EXPECT_EQ(first(command), "python t.py --per_device_train_batch_size 8 --fp16");
  EXPECT_EQ(second(command),
            "python t.py --per_device_train_batch_size 4 --fp16 --gradient_accumulation_steps 2");
  EXPECT_EQ(second(make("t.py --per_device_train_batch_size=8 --gradient_accumulation_steps=3")),
            "t.py --per_device_train_batch_size=4 --gradient_accumulation_steps=6");
  EXPECT_EQ(
      second(make("tune run r --config llama3/8B batch_size=4 gradient_accumulation_steps=2")),
      "tune run r --config llama3/8B batch_size=2 gradient_accumulation_steps=4");
}

TEST(CommandTemplate, where_the_accumulation_is_not_known_micro_shrinks_alone) {
  const auto command = make("torchrun t.py --batch-size 8");
  EXPECT_FALSE(command.keeps_step());
  EXPECT_EQ(second(command), "torchrun t.py --batch-size 4");
  EXPECT_EQ(command.smaller(command.initial())->accumulate, std::nullopt);
  // What a file says that nobody read is not known either.
  const auto axolotl = make("axolotl train c.yml --micro-batch-size 8");
  EXPECT_FALSE(axolotl.keeps_step());
  EXPECT_THAT(second(axolotl), HasSubstr("--micro-batch-size 4"));
  EXPECT_THAT(second(axolotl), ::testing::Not(HasSubstr("accumulation")));
}

TEST(CommandTemplate, values_of_the_configuration_file_are_overridden_on_the_command_line) {
  const FileValues file{{"micro_batch_size", "4"}, {"gradient_accumulation_steps", "2"}};
  const auto axolotl = make("axolotl train c.yml", "", file);
  EXPECT_EQ(axolotl.initial().micro, 4U);
  EXPECT_EQ(first(axolotl), "axolotl train c.yml");
  EXPECT_EQ(second(axolotl),
            "axolotl train c.yml --micro-batch-size 2 --gradient-accumulation-steps 4 "
            "--auto-resume-from-checkpoints");
  const auto factory = make("llamafactory-cli train a.yaml", "", FileValues{});
  EXPECT_EQ(second(factory),
            "llamafactory-cli train a.yaml per_device_train_batch_size=4 "
            "gradient_accumulation_steps=2");
  EXPECT_EQ(second(make("llamafactory-cli train a.yaml")), "none");
}

TEST(CommandTemplate, what_was_typed_holds_over_the_flags_of_the_command) {
  const auto command = make("t.py --per_device_train_batch_size 8", "micro=6,accumulate=4");
  EXPECT_EQ(first(command), "t.py --per_device_train_batch_size 6 --gradient_accumulation_steps 4");
  EXPECT_EQ(second(command),
            "t.py --per_device_train_batch_size 3 --gradient_accumulation_steps 8");
}

TEST(CommandTemplate, a_placeholder_beside_a_known_flag_is_the_one_that_changes) {
  EXPECT_EQ(second(make("t.py --per_device_train_batch_size {micro}", "micro=8")),
            "t.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2");
}

TEST(CommandTemplate, llama_cpp_takes_fewer_layers_then_less_context) {
  const auto layers = make("llama-server -m x.gguf -ngl 33 -c 8192");
  EXPECT_EQ(layers.unit(), "layers on the GPU");
  EXPECT_EQ(second(layers), "llama-server -m x.gguf -ngl 16 -c 8192");
  EXPECT_EQ(second(make("llama-cli -c 8192")), "llama-cli -c 4096");
  EXPECT_EQ(second(make("llama-cli -ngl all")), "none");
}

TEST(CommandTemplate, resume_words_without_a_place_come_last) {
  const auto command = make("t.py --batch_size 8", "resume=--resume last");
  EXPECT_EQ(first(command), "t.py --batch_size 8");
  EXPECT_EQ(second(command), "t.py --batch_size 4 --resume last");
  // The command says itself what to go on from.
  EXPECT_THAT(second(make("axolotl train c.yml --resume-from-checkpoint=x --micro-batch-size 2")),
              ::testing::Not(HasSubstr("auto")));
}

TEST(CommandTemplate, settings_that_a_command_does_not_take_show_what_would_change) {
  const auto command = make("./a.out", "micro=8,accumulate=2");
  EXPECT_FALSE(command.takes_micro());
  EXPECT_EQ(command.smaller(command.initial())->micro, 4U);
  EXPECT_EQ(command.smaller(command.initial())->accumulate, 4U);
  EXPECT_FALSE(make("./a.out").smaller({}).has_value());
}

}  // namespace
}  // namespace headroom::supervisor

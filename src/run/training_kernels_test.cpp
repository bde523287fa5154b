// SPDX-License-Identifier: Apache-2.0
// What training programs are told of Liger's kernels and of modules with adapters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "run/training_command.h"
#include "run/training_dialects.h"
#include "run/training_recipe.h"

namespace headroom::run {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Program = Result<TrainingCommand> (*)(const std::vector<GivenArgument>&, const std::string&);

TrainingCommand taken(Program program, const std::string& recipe) {
  const auto all = parse_recipe(recipe);
  EXPECT_TRUE(all) << (all ? "" : all.error().message);
  auto command = program(all.value_or(std::vector<GivenArgument>{}), "the recipe");
  EXPECT_TRUE(command) << (command ? "" : command.error().message);
  return command ? *std::move(command) : TrainingCommand{};
}

Result<TrainingCommand> as_trl(const std::vector<GivenArgument>& all, const std::string& where) {
  return as_trainer(all, TrainerSource::trl, where, "sft");
}

Json compute_of(const TrainingCommand& command) {
  return command.flags.keys["compute"];
}

TEST(TrainingKernels, llama_factory_turns_ligers_on) {
  const std::string model = "model_name_or_path: m\nbf16: true\nenable_liger_kernel: true\n";
  EXPECT_EQ(compute_of(taken(as_llama_factory, model))["use_liger_kernel"], true);
  const TrainingCommand pairs = taken(as_llama_factory, model + "stage: dpo\n");
  EXPECT_FALSE(compute_of(pairs).contains("use_liger_kernel"));
  EXPECT_THAT(join(pairs.notes, "\n"), HasSubstr("memory depends on it: enable_liger_kernel"));
}

TEST(TrainingKernels, a_config_of_ligers_is_a_table_in_a_recipe) {
  const Json compute =
      compute_of(taken(as_trl,
                       "model_name_or_path: m\nuse_liger_kernel: true\nliger_kernel_config:\n"
                       "  fused_linear_cross_entropy: false\n  rope: true\n"));
  EXPECT_EQ(compute["liger_kernel_config"],
            Json({{"fused_linear_cross_entropy", false}, {"rope", true}}));
  const std::string off = "model_name_or_path: m\nliger_kernel_config: {rope: false}\n";
  EXPECT_FALSE(compute_of(taken(as_trl, off)).contains("liger_kernel_config"));
}

TEST(TrainingKernels, a_config_of_ligers_is_json_or_python_in_a_command) {
  for (const char* text :
       {R"({"rope": false, "rms_norm": true})", "{'rope': False, 'rms_norm': 1}"}) {
    const auto command =
        parse_training_command({"python", "t.py", "--model_name_or_path", "m", "--use_liger_kernel",
                                "--liger_kernel_config", text});
    ASSERT_TRUE(command) << command.error().message;
    EXPECT_EQ(compute_of(*command)["liger_kernel_config"],
              Json({{"rope", false}, {"rms_norm", true}}));
  }
  for (const char* text : {"{", "rope", "[1]", R"({"rope": "x"})", R"({"rope": [true]})"})
    EXPECT_FALSE(parse_training_command(
        {"python", "t.py", "--model_name_or_path", "m", "--liger_kernel_config", text}))
        << text;
}

const std::string axolotl = "base_model: m\nadapter: lora\nlora_r: 8\n";

TEST(TrainingKernels, axolotl_has_ligers_by_its_plugin_alone) {
  const std::string kernels = "liger_rms_norm: true\nliger_swiglu: true\n";
  const TrainingCommand without = taken(as_axolotl, axolotl + kernels);
  EXPECT_FALSE(compute_of(without).contains("use_liger_kernel"));
  EXPECT_THAT(join(without.notes, "\n"), HasSubstr("LigerPlugin is not among the plugins"));
  const TrainingCommand with = taken(
      as_axolotl, axolotl + kernels + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\n");
  const Json config = compute_of(with)["liger_kernel_config"];
  EXPECT_EQ(config["rms_norm"], true);
  EXPECT_EQ(config["rope"], false);
  EXPECT_EQ(config["swiglu"], true);
  EXPECT_EQ(config["geglu"], true);
  EXPECT_THAT(join(with.notes, "\n"), Not(HasSubstr("plugins")));
}

TEST(TrainingKernels, all_linear_in_a_list_is_no_module) {
  const auto command =
      parse_training_command({"python", "t.py", "--model_name_or_path", "m", "--use_peft",
                              "--lora_target_modules", "all-linear", "lm_head"});
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->flags.keys["method"]["targets"], Json({"lm_head"}));
  EXPECT_THAT(join(command->notes, "\n"), HasSubstr("is no module's name"));
}

TEST(TrainingKernels, axolotls_linear_layers_are_joined_with_what_is_named) {
  const std::string linear = axolotl + "lora_target_linear: true\n";
  const auto targets = [&](const std::string& named) {
    const TrainingCommand command = taken(as_axolotl, linear + named);
    return command.flags.keys["method"]["targets"];
  };
  EXPECT_EQ(targets("lora_target_modules: [lm_head]\n"),
            Json({"q", "k", "v", "o", "gate", "up", "down", "lm_head"}));
  EXPECT_EQ(targets("lora_target_modules: [q_proj]\n"), "all-linear");
  EXPECT_EQ(targets(""), "all-linear");
}

}  // namespace
}  // namespace headroom::run

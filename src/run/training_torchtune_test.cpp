// SPDX-License-Identifier: Apache-2.0
// torchtune's recipes as people have them on their disks: after "tune cp", with overrides behind
// it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "run/training_command.h"

namespace headroom::run {
namespace {

constexpr const char* adapters = R"(
output_dir: /tmp/out
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  apply_lora_to_output: False
  lora_rank: 8  # higher increases accuracy and memory
  lora_alpha: 16
  lora_dropout: 0.0
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/tokenizer.model
  max_seq_len: null
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: /nowhere/Llama
  output_dir: ${output_dir}
dataset:
  _component_: torchtune.datasets.alpaca_cleaned_dataset
  packed: False
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  fused: True
  lr: 3e-4
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
gradient_accumulation_steps: 8
compile: False
device: cuda
dtype: bf16
enable_activation_checkpointing: True
enable_activation_offloading: False
profiler:
  _component_: torchtune.training.setup_torch_profiler
  enabled: False
  profile_memory: False
a_key_of_tomorrow: 1
)";

// A config in a folder of its own, for which "FILE" stands in a command.
class Config {
 public:
  explicit Config(const std::string& text) {
    std::string pattern = testing::TempDir() + "headroom-tune-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "config.yaml") << text;
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  ~Config() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }
  Result<TrainingCommand> read(const std::string& line) const {
    std::vector<std::string> words;
    for (const auto word : split_words(line))
      words.push_back(word == "FILE" ? (folder_ / "config.yaml").string() : std::string(word));
    return parse_training_command(words);
  }

 private:
  std::filesystem::path folder_;
};

Result<TrainingCommand> read(const std::string& line, const std::string& text = adapters) {
  return Config(text).read(line);
}

TEST(Torchtune, adapters_as_its_own_config_has_them) {
  const auto command = read("tune run lora_finetune_single_device --config FILE");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["model"]["name"], "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(keys["method"]["kind"], "lora");
  EXPECT_EQ(keys["method"]["rank"], 8);
  EXPECT_EQ(keys["method"]["base"], "bf16");
  EXPECT_EQ(keys["method"]["adapter_dtype"], "bf16");
  EXPECT_EQ(keys["method"]["targets"],
            Json({"q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}));
  EXPECT_EQ(keys["batch"], Json({{"micro", 2}, {"accumulate", 8}, {"sequence", 1024}}));
  EXPECT_EQ(keys["compute"]["dtype"], "bf16");
  EXPECT_FALSE(keys["compute"].contains("autocast"));
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["compute"]["loss"], "linear-chunks");
  EXPECT_EQ(keys["optimizer"]["kind"], "adamw");
  EXPECT_EQ(keys["optimizer"]["fused"], true);
  const std::string notes = join(command->notes, "\n");
  EXPECT_NE(notes.find("batch.micro = 2 from batch_size"), std::string::npos) << notes;
  EXPECT_NE(notes.find("does not say how long samples are"), std::string::npos) << notes;
  EXPECT_NE(notes.find("Ignored: a_key_of_tomorrow."), std::string::npos) << notes;
  EXPECT_EQ(notes.find("Left out"), std::string::npos) << notes;
  EXPECT_EQ(command->program, TrainingProgram::torchtune);
}

TEST(Torchtune, overrides_win_and_a_component_is_replaced_by_its_name) {
  const auto command = read(
      "tune run --nproc_per_node 1 lora_finetune_distributed --config FILE batch_size=1 "
      "model=torchtune.models.qwen2_5.qlora_qwen2_5_7b_instruct model.lora_rank=64 "
      "model.lora_attn_modules=[q_proj,k_proj] model.apply_lora_to_mlp=False "
      "tokenizer.max_seq_len=4096 ~optimizer.fused compile=True dataset.packed=True");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["model"]["name"], "Qwen/Qwen2.5-7B");
  EXPECT_EQ(keys["method"]["kind"], "qlora");
  EXPECT_EQ(keys["method"]["base"], "nf4-dq");
  EXPECT_EQ(keys["method"]["rank"], 64);
  EXPECT_EQ(keys["method"]["targets"], Json({"q_proj", "k_proj"}));
  EXPECT_EQ(keys["batch"], Json({{"micro", 1}, {"accumulate", 8}, {"sequence", 4096}}));
  EXPECT_EQ(keys["optimizer"]["kind"], "adamw");
  const std::string notes = join(command->notes, "\n");
  EXPECT_NE(notes.find("memory depends on it: compile, dataset.packed."), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("without what FSDP adds"), std::string::npos) << notes;
  EXPECT_NE(notes.find("for the launcher: --nproc_per_node"), std::string::npos) << notes;
}

TEST(Torchtune, a_whole_model_from_its_folder) {
  const Config config("");
  std::ofstream(config.folder() / "config.json") << R"({"model_type": "llama"})";
  std::ofstream(config.folder() / "config.yaml") << "weights: " << config.folder().string() << R"(
checkpointer:
  checkpoint_dir: ${weights}
model:
  _component_: my.package.a_model
optimizer:
  _component_: bitsandbytes.optim.PagedAdamW8bit
optimizer_in_bwd: False
batch_size: 1
dtype: fp32
loss:
  _component_: torch.nn.CrossEntropyLoss
)";
  const auto command = config.read("tune run full_finetune_single_device --config FILE");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const Json& keys = command->flags.keys;
  EXPECT_EQ(keys["model"]["config"], config.folder().string());
  EXPECT_EQ(keys["method"], Json({{"kind", "full"}, {"base", "fp32"}}));
  EXPECT_EQ(keys["optimizer"], Json({{"kind", "adamw8bit"}, {"offload", true}}));
  EXPECT_EQ(keys["compute"]["checkpointing"], "none");
  EXPECT_FALSE(keys["compute"].contains("loss"));
  const std::string notes = join(command->notes, "\n");
  for (const char* said :
       {"depends on it: loss torch.nn.CrossEntropyLoss.", "paged states in host memory"})
    EXPECT_NE(notes.find(said), std::string::npos) << said << "\n" << notes;
}

TEST(Torchtune, what_is_not_planned_or_not_there_is_an_error_with_a_next_step) {
  const std::string run = "tune run lora_finetune_single_device --config FILE ";
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {"tune run", "name of a recipe"},
           {"tune run lora_finetune_single_device", "--config FILE.yaml"},
           {"tune run lora_finetune_single_device --config llama3_1/8B_lora", "torchtune's own"},
           {"tune run lora_finetune_single_device --config /nowhere.yaml", "/nowhere.yaml"},
           {"tune run lora_dpo_single_device --config FILE", "lora_dpo_single_device"},
           {"tune run --nproc_per_node 2 lora_finetune_distributed --config FILE", "one card"},
           {"tune run full_finetune_single_device --config FILE", "without adapters"},
           {run + "batch_size", "key=value"},
           {run + "--flag=3", "key=value"},
           {run + "batch_size=two", "batch_size: expected a whole number"},
           {run + "dtype=fp16", "bf16 or fp32"},
           {run + "~dtype", "expected bf16 or fp32, found none"},
           {run + "model=my.lora_model", "checkpoint_dir"},
           {run + "model=torchtune.models.llama3_1.llama3_1_8b", "lora_ or qlora_"},
           {run + "optimizer=torchao.optim.AdamW4bit", "torch.optim.AdamW"},
           {run + "~optimizer", "expected an optimizer"},
           {run + "~model", "builder"},
           {run + "optimizer_in_bwd=True", "steps within backward"},
           {run + "tensor_parallel_dim=2", "one card"},
           {run + "fsdp_cpu_offload=True", "one card"},
           {run + "model.lora_attn_modules=[everything]", "q_proj, k_proj"}}) {
    const auto command = read(line);
    ASSERT_FALSE(command.has_value()) << line;
    EXPECT_NE(command.error().message.find(says), std::string::npos)
        << line << ": " << command.error().message;
    EXPECT_FALSE(command.error().next.empty()) << line;
  }
}

TEST(Torchtune, a_change_is_an_override_behind_the_recipe) {
  estimate::Change change;
  change.micro = 1;
  change.checkpointing = estimate::Checkpointing::layer;
  change.optimizer = estimate::OptimizerKind::adamw8bit;
  EXPECT_EQ(to_words(change, TrainingProgram::torchtune, true),
            "batch_size=1 enable_activation_checkpointing=true "
            "optimizer=bitsandbytes.optim.AdamW8bit");
  estimate::Change four;
  four.method = estimate::MethodKind::qlora;
  four.base = estimate::WeightFormat::nf4;
  EXPECT_EQ(to_words(four, TrainingProgram::torchtune, true),
            "[method] kind = \"qlora\", base = \"nf4\"");
}

}  // namespace
}  // namespace headroom::run

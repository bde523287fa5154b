// SPDX-License-Identifier: Apache-2.0
// What a run printed, read back: each program's lines, what wins over what, and logs that are cut,
// mixed or of something else.
#include "run/script_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "run/log_words.h"

namespace headroom::run {
namespace {

// Qwen2.5-0.5B's own numbers: 494,032,768 parameters.
constexpr const char* config =
    R"([INFO|configuration_utils.py:765] 2026-03-02 10:00:01,100 >> loading configuration file config.json from cache at /data/hub/models--Qwen--Qwen2.5-0.5B/snapshots/060db6499f32/config.json
[INFO|configuration_utils.py:839] 2026-03-02 10:00:01,101 >> Model config Qwen2Config {
  "architectures": [
    "Qwen2ForCausalLM"
  ],
  "hidden_act": "silu",
  "hidden_size": 896,
  "intermediate_size": 4864,
  "max_position_embeddings": 32768,
  "model_type": "qwen2",
  "num_attention_heads": 14,
  "num_hidden_layers": 24,
  "num_key_value_heads": 2,
  "rms_norm_eps": 1e-06,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.51.3",
  "use_sliding_window": false,
  "vocab_size": 151936
}

)";

constexpr const char* start =
    R"([INFO|trainer.py:2414] 2026-03-02 10:00:09,000 >> ***** Running training *****
[INFO|trainer.py:2415] 2026-03-02 10:00:09,000 >>   Num examples = 12,345
[INFO|trainer.py:2416] 2026-03-02 10:00:09,000 >>   Num Epochs = 3
[INFO|trainer.py:2417] 2026-03-02 10:00:09,000 >>   Instantaneous batch size per device = 4
[INFO|trainer.py:2420] 2026-03-02 10:00:09,000 >>   Total train batch size (w. parallel, distributed & accumulation) = 32
[INFO|trainer.py:2421] 2026-03-02 10:00:09,000 >>   Gradient Accumulation steps = 8
[INFO|trainer.py:2422] 2026-03-02 10:00:09,000 >>   Total optimization steps = 1,155
)";

class ScriptLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "headroom-log-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<ScriptLog> read(const std::string& text, const JobFlags& own = {}) const {
    std::ofstream(folder_ / "run.log") << text;
    return read_script_log((folder_ / "run.log").string(), own);
  }

  // The job's keys, of a training run's log.
  Json keys_of(const std::string& text, const JobFlags& own = {}) const {
    const auto log = read(text, own);
    EXPECT_TRUE(log.has_value()) << log.error().message;
    return log ? log->training.flags.keys : Json();
  }

  std::filesystem::path folder_;
};

std::string trainable(const char* count) {
  return std::string(start) +
         "[INFO|trainer.py:2423] 2026-03-02 10:00:09,000 >>   Number of trainable parameters = " +
         count + "\n";
}

TEST_F(ScriptLogs, trainers_start_block_and_a_printed_config_are_a_job) {
  const auto log = read(config + trainable("494,032,768"));
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const Json& keys = log->training.flags.keys;
  EXPECT_EQ(keys["model"]["config"]["hidden_size"], 896);
  EXPECT_EQ(keys["batch"]["micro"], 4);
  EXPECT_EQ(keys["batch"]["accumulate"], 8);
  EXPECT_EQ(keys["method"]["kind"], "full");
  EXPECT_EQ(keys["engine"]["transformers"], "4.51.3");
  const std::string notes = join(log->notes, "\n");
  EXPECT_NE(notes.find("batch.micro = 4 from Instantaneous batch size per device (line 25)"),
            std::string::npos)
      << notes;
  EXPECT_NE(notes.find("the log does not say how long samples are (--sequence N)"),
            std::string::npos);
}

TEST_F(ScriptLogs, the_number_of_trained_parameters_tells_adapters) {
  // Rank 8 on q and v of all layers: 24 × 8 × ((896 + 896) + (896 + 128)).
  Json keys = keys_of(config + trainable("540,672"));
  EXPECT_EQ(keys["method"]["kind"], "lora");
  EXPECT_EQ(keys["method"]["rank"], 8);
  EXPECT_EQ(keys["method"]["targets"], Json({"q", "v"}));
  // Rank 16 on every linear layer, as PEFT prints it.
  const std::uint64_t each = (896 + 896) * 2 + (896 + 128) * 2 + (896 + 4864) * 3;
  const std::string trained = std::to_string(24 * 16 * each);
  keys = keys_of(std::string(config) + "trainable params: " + trained +
                 " || all params: 502,830,976 || trainable%: 1.7497\n" + start);
  EXPECT_EQ(keys["method"]["rank"], 16);
  EXPECT_EQ(keys["method"]["targets"], "all-linear");
  const auto neither = read(config + trainable("540,671"));
  ASSERT_FALSE(neither.has_value());
  EXPECT_NE(neither.error().message.find("540671 of 494032768"), std::string::npos)
      << neither.error().message;
  EXPECT_NE(neither.error().next.find("--rank"), std::string::npos);
  JobFlags own;
  own.set("method.kind", "lora", "--method");
  own.set("method.rank", 4, "--rank");
  EXPECT_TRUE(read(config + trainable("540,671"), own).has_value());
}

TEST_F(ScriptLogs, without_a_config_the_number_of_parameters_finds_the_model) {
  const std::string peft =
      "trainable params: 540,672 || all params: 494,573,440 || trainable%: 0.1";
  EXPECT_EQ(keys_of(peft + "\n" + start)["model"]["name"], "Qwen/Qwen2.5-0.5B");
  const auto unknown = read(
      "trainable params: 540,672 || all params: 123,456 || trainable%: 0.1\n" + std::string(start));
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().next.find("--model"), std::string::npos);
  JobFlags own;
  own.set("model.name", "Qwen/Qwen2.5-0.5B", "--model");
  EXPECT_TRUE(read(start, own).has_value());
}

TEST_F(ScriptLogs, arguments_that_a_script_prints_are_trainers_own) {
  const Json keys =
      keys_of(std::string(config) + R"(Training/evaluation parameters TrainingArguments(
_n_gpu=1,
bf16=True,
deepspeed=None,
fp16=False,
fsdp=[],
fsdp_config={'min_num_params': 0, 'xla': False},
gradient_accumulation_steps=2,
gradient_checkpointing=True,
optim=OptimizerNames.ADAMW_BNB,
per_device_train_batch_size=16,
)
)" + trainable("494,032,768"));
  EXPECT_EQ(keys["compute"]["autocast"], true);
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["optimizer"]["kind"], "adamw_bnb_8bit");
  EXPECT_EQ(keys["batch"]["micro"], 4);  // What Trainer says later holds.
  EXPECT_FALSE(read(std::string(config) + "TrainingArguments(\ndeepspeed=zero3.json,\n)\n" + start)
                   .has_value());
}

TEST_F(ScriptLogs, llama_factory_says_its_method_in_words) {
  const auto log = read(
      std::string(config) +
      R"([INFO|2026-03-02 10:00:05] llamafactory.hparams.parser:468 >> Process rank: 0, world size: 1, device: cuda:0, distributed training: False, compute dtype: torch.bfloat16
[INFO|2026-03-02 10:00:06] llamafactory.model.model_utils.quantization:143 >> Quantizing model to 4 bit with bitsandbytes.
[INFO|2026-03-02 10:00:06] llamafactory.model.model_utils.checkpointing:143 >> Gradient checkpointing enabled.
[INFO|2026-03-02 10:00:06] llamafactory.model.model_utils.attention:143 >> Using torch SDPA for faster training and inference.
[INFO|2026-03-02 10:00:06] llamafactory.model.adapter:143 >> Upcasting trainable params to float32.
[INFO|2026-03-02 10:00:06] llamafactory.model.adapter:143 >> Fine-tuning method: LoRA
[INFO|2026-03-02 10:00:06] llamafactory.model.model_utils.misc:143 >> Found linear modules: q_proj,v_proj
[INFO|2026-03-02 10:00:07] llamafactory.model.loader:143 >> trainable params: 1,081,344 || all params: 495,114,112 || trainable%: 0.2184
)" + start);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const Json& keys = log->training.flags.keys;
  EXPECT_EQ(log->training.program, TrainingProgram::llama_factory);
  EXPECT_EQ(keys["method"]["kind"], "qlora");
  EXPECT_EQ(keys["method"]["base"], "nf4");
  EXPECT_EQ(keys["method"]["rank"], 16);
  EXPECT_EQ(keys["method"]["targets"], Json({"q_proj", "v_proj"}));
  EXPECT_EQ(keys["compute"]["attention"], "sdpa");
  EXPECT_EQ(keys["compute"]["checkpointing"], "layer");
  EXPECT_EQ(keys["compute"]["autocast"], true);
}

TEST_F(ScriptLogs, axolotl_prints_its_settings_resolved) {
  const auto log =
      read(R"([2026-03-02 10:00:01,200] [INFO] [axolotl.cli.config.load_cfg:336] [PID:812] config:
{
  "adapter": "lora",
  "base_model": "Qwen/Qwen2.5-0.5B",
  "bf16": true,
  "datasets": [
    {
      "path": "some/data"
    }
  ],
  "gradient_accumulation_steps": 4,
  "gradient_checkpointing": true,
  "lora_alpha": 32,
  "lora_r": 32,
  "lora_target_modules": ["q_proj", "v_proj"],
  "micro_batch_size": 2,
  "optimizer": "adamw_torch_fused",
  "sequence_len": 2048,
  "torch_dtype": "torch.bfloat16",
  "world_size": 1
}
)");
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const Json& keys = log->training.flags.keys;
  EXPECT_EQ(keys["model"]["name"], "Qwen/Qwen2.5-0.5B");
  EXPECT_EQ(keys["batch"]["sequence"], 2048);
  EXPECT_EQ(keys["method"]["rank"], 32);
  EXPECT_NE(join(log->notes, "\n").find("2 other settings"), std::string::npos)
      << join(log->notes, "\n");
}

TEST_F(ScriptLogs, vllms_config_is_its_command) {
  const auto log = read(
      R"(INFO 04-18 12:00:01 [config.py:2003] Chunked prefill is enabled with max_num_batched_tokens=4096.
(EngineCore_0 pid=99) INFO 04-18 12:00:02 [core.py:58] Initializing a V1 LLM engine (v0.8.5.post1) with config: model='Qwen/Qwen2.5-7B', speculative_config=None, tokenizer='Qwen/Qwen2.5-7B', dtype=torch.bfloat16, max_seq_len=16384, download_dir=None, tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, enforce_eager=True, kv_cache_dtype=auto,  device_config=cuda, compilation_config={"level":3,"splitting_ops":[]}
(EngineCore_0 pid=99) INFO 04-18 12:00:09 [gpu_model_runner.py:1347] Model loading took 7.1557 GiB and 3.21 seconds
INFO 04-18 12:00:30 [kv_cache_utils.py:634] GPU KV cache size: 93,792 tokens
)");
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const std::string command = join(log->command, " ");
  EXPECT_TRUE(command.starts_with("vllm serve Qwen/Qwen2.5-7B --dtype bfloat16")) << command;
  for (const char* part : {"--max-model-len 16384", "--tensor-parallel-size 2", "--enforce-eager",
                           "--headroom-version 0.8.5.post1", "--max-num-batched-tokens 4096"})
    EXPECT_NE(command.find(part), std::string::npos) << part << " in " << command;
  EXPECT_EQ(command.find("quantization"), std::string::npos);
  EXPECT_NE(join(log->notes, "\n").find("weights 7.16 GiB (line 3)"), std::string::npos)
      << join(log->notes, "\n");
}

TEST_F(ScriptLogs, a_llama_cpp_log_needs_the_file) {
  const std::string file = (folder_ / "model.gguf").string();
  const std::string text =
      "build: 6500 (1a2b3c4d) with cc (GCC) 14.2.0 for x86_64-linux-gnu\n"
      "llama_model_loader: loaded meta data with 26 key-value pairs and 291 "
      "tensors from " +
      file + R"( (version GGUF V3 (latest))
load_tensors: offloaded 29/33 layers to GPU
load_tensors:        ROCm0 model buffer size =  4095.16 MiB
llama_context: n_seq_max     = 2
llama_context: n_ctx         = 8192
llama_context: n_ctx_per_seq = 4096
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 256
llama_context: flash_attn    = auto
llama_context: kv_unified    = false
llama_kv_cache:      ROCm0 KV buffer size =   544.00 MiB
llama_kv_cache: size =  544.00 MiB (  4096 cells,  32 layers,  2/2 seqs), K (q8_0):  272.00 MiB, V (q8_0):  272.00 MiB
llama_context: Flash Attention was auto, set to enabled
)";
  const auto missing = read(text);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("ROCm0 model buffer 4.00 GiB (line 4)"), std::string::npos)
      << missing.error().message;
  std::ofstream(file) << "GGUF";
  const auto log = read(text);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const std::string command = join(log->command, " ");
  EXPECT_TRUE(command.starts_with("llama-cli --model " + file)) << command;
  for (const char* part : {"--ctx-size 8192", "--parallel 2", "--batch-size 2048",
                           "--ubatch-size 256", "--n-gpu-layers 29", "--flash-attn on",
                           "--cache-type-k q8_0", "--cache-type-v q8_0", "--headroom-build 6500"})
    EXPECT_NE(command.find(part), std::string::npos) << part << " in " << command;
}

TEST_F(ScriptLogs, an_out_of_memory_error_tells_the_card) {
  const std::string error =
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 23.98 GiB of which 1.02 GiB is free. Of the allocated memory 21.30 GiB is "
      "allocated by PyTorch, and 310.00 MiB is reserved by PyTorch but unallocated.\n";
  const auto log = read(config + trainable("494,032,768") + error);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->device.keys["device"]["capacity"], "23.98 GiB");
  const std::string notes = join(log->notes, "\n");
  EXPECT_NE(notes.find("2.00GiB could not be allocated, with 21.30 GiB in use"), std::string::npos)
      << notes;
}

TEST_F(ScriptLogs, several_processes_and_unsloth_are_said) {
  std::string two = trainable("494,032,768");
  two.replace(two.find("= 32"), 4, "= 64");
  EXPECT_NE(join(read(config + two)->notes, "\n").find("one of 2 processes"), std::string::npos);
  const auto unsloth = read(std::string(config) +
                            R"(==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1
   \\   /|    Num examples = 1,000 | Num Epochs = 1 | Total steps = 60
O^O/ \_/ \    Batch size per device = 2 | Gradient accumulation steps = 4
\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8
 "-____-"     Trainable parameters = 540,672 of 494,573,440 (0.11% trained)
)");
  ASSERT_TRUE(unsloth.has_value()) << unsloth.error().message;
  EXPECT_EQ(unsloth->training.flags.keys["batch"]["micro"], 2);
  EXPECT_EQ(unsloth->training.flags.keys["batch"]["accumulate"], 4);
  EXPECT_EQ(unsloth->training.flags.keys["method"]["rank"], 8);
  EXPECT_NE(join(unsloth->notes, "\n").find("Unsloth's kernels (line 22)"), std::string::npos);
}

TEST_F(ScriptLogs, what_shows_no_run_is_an_error_with_a_way_on) {
  for (const std::string text :
       {"", "hello\n", "Model config LlamaConfig {\n", "***** Running evaluation *****\n",
        "Initializing a V1 LLM engine (v0.8.5) with config: model=\n",
        "***** Running training *****\n", "SFTConfig(\nper_device_train_batch_size=many,\n)\n"}) {
    const auto log = read(text);
    ASSERT_FALSE(log.has_value()) << text;
    EXPECT_FALSE(log.error().next.empty()) << log.error().message;
  }
  EXPECT_FALSE(read_script_log((folder_ / "gone.log").string(), {}).has_value());
  EXPECT_FALSE(read_script_log(folder_.string(), {}).has_value());
}

TEST_F(ScriptLogs, cut_at_any_byte_it_never_fails_otherwise) {
  const std::string whole = config + trainable("540,672");
  for (std::size_t end = 0; end < whole.size(); end += 97) {
    const auto log = read(whole.substr(0, end));
    EXPECT_TRUE(log.has_value() || !log.error().message.empty());
  }
}

TEST_F(ScriptLogs, an_object_without_end_and_a_line_without_end_are_given_up) {
  std::string text = "Model config LlamaConfig {\n";
  for (int i = 0; i < 40'000; ++i) text += "  \"key\": 1,\n";
  text += std::string(std::size_t{1} << 20U, 'x') + "\n" + config + trainable("494,032,768");
  EXPECT_EQ(keys_of(text)["model"]["config"]["hidden_size"], 896);
}

TEST(LogWords, values_stand_behind_keys_in_several_forms) {
  EXPECT_EQ(value_of_key("a_model='x', model='Qwen/Q, 2', n=1", "model"), "Qwen/Q, 2");
  EXPECT_EQ(value_of_key("{'share': 0.8, \"n\": 3}", "share"), "0.8");
  EXPECT_EQ(value_of_key("{'share': 0.8, \"n\": 3}", "n"), "3");
  EXPECT_EQ(value_of_key("n_ctx         = 4096", "n_ctx"), "4096");
  EXPECT_EQ(value_of_key("n_ctx_seq = 1", "n_ctx"), std::nullopt);
  EXPECT_EQ(value_of_key("quantization=None, x=1", "quantization"), std::nullopt);
  EXPECT_EQ(value_of_key("list=['a', ']', 'b'], x=1", "list"), "['a', ']', 'b']");
  EXPECT_EQ(value_of_key("model='cut", "model"), std::nullopt);
  EXPECT_EQ(count_behind("Num examples = 1,234,567", "Num examples ="), 1234567U);
  EXPECT_EQ(count_behind("n = 99999999999999999999", "n ="), std::nullopt);
  EXPECT_EQ(size_behind("took 2.5 GiB and 3 s", "took"), Bytes{2684354560});
  EXPECT_EQ(size_behind("took 14.27", "took"), std::nullopt);
  EXPECT_EQ(word_behind("default dtype torch.bfloat16.", "dtype torch."), "bfloat16");
  EXPECT_EQ(hub_name("/c/hub/models--Qwen--Qwen2.5-0.5B/snapshots/1"), "Qwen/Qwen2.5-0.5B");
  EXPECT_EQ(hub_name("/c/model"), "");
}

}  // namespace
}  // namespace headroom::run

// SPDX-License-Identifier: Apache-2.0
// A job as people write it (TOML) and programs send it (JSON), with the same keys. The members'
// initial values are the defaults of the keys. `parse_job` is the only way to make a Job, so every
// Job has been checked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate {

enum class DType : std::uint8_t { fp32, bf16, fp16 };
// How weights are held. The first three are DType's, in its order.
enum class WeightFormat : std::uint8_t { fp32, bf16, fp16, int8, nf4, nf4_dq, gptq4, gptq8, awq4 };
enum class MethodKind : std::uint8_t { full, lora, qlora, inference };
enum class Attention : std::uint8_t { math, eager, sdpa_mask, efficient, flash };
enum class Checkpointing : std::uint8_t { none, layer, selective, automatic };
// eager: PyTorch's cross entropy; triton: a kernel that needs one copy of the logits; fused_liger:
// never holds them; chunked: holds a few rows at a time; linear_chunks: torchtune's, which keeps
// probabilities alone.
enum class Loss : std::uint8_t { eager, triton, fused_liger, chunked, linear_chunks };
enum class NormKernel : std::uint8_t { eager, fused };
enum class OptimizerKind : std::uint8_t { adamw, adamw8bit, sgd, adafactor };
enum class Master : std::uint8_t { none, fp32 };
// How the learning rate changes over a run; the names are transformers' (SchedulerType).
enum class ScheduleKind : std::uint8_t { constant, constant_with_warmup, linear, cosine };
enum class EngineKind : std::uint8_t { headroom, transformers, command };
// What adapters can be on: the projections of each layer, then the two that a model has once.
enum class Target : std::uint8_t { q, k, v, o, gate, up, down, embedding, head };
constexpr bool is_in_layers(Target target) {
  return target <= Target::down;
}
// What a step trains on, by TRL's trainers: text as it is, pairs of answers (DPOTrainer), answers
// that the model makes itself (GRPOTrainer).
enum class TrainerKind : std::uint8_t { sft, dpo, grpo };

std::uint64_t size_of(DType dtype);  // Bytes per element.
WeightFormat format_of(DType dtype);
std::optional<DType> plain_type(WeightFormat format);  // Nothing for what is quantised.
std::string_view to_string(DType dtype);
std::string_view to_string(WeightFormat format);
std::string_view to_string(MethodKind kind);
std::string_view to_string(Attention attention);
std::string_view to_string(Checkpointing checkpointing);
std::string_view to_string(Loss loss);
std::string_view to_string(OptimizerKind kind);
std::string_view to_string(ScheduleKind kind);
std::string_view to_string(EngineKind kind);
std::string_view to_string(Target target);
std::string_view to_string(TrainerKind kind);

struct Job {
  struct Model {
    std::optional<std::string> name;  // "Qwen/Qwen2.5-3B", looked up in the built-in table.
    std::optional<std::string>
        config_path;  // A Hugging Face folder, a config.json, or a weight file (.gguf, .onnx,
                      // .safetensors); relative to the job file.
    std::shared_ptr<const Json> config;  // The object itself, in JSON jobs; null in others.
    // Of an ONNX model's inputs, by name, where the file leaves sizes open.
    std::map<std::string, std::vector<std::uint64_t>> shapes;
  } model;

  struct Method {
    MethodKind kind = MethodKind::full;
    WeightFormat base = WeightFormat::bf16;  // compute.dtype if not given.
    std::int64_t group_size = 128;           // Of GPTQ and AWQ; -1: one group per column.
    std::uint64_t rank = 8;
    double alpha = 16;
    double dropout = 0;
    std::vector<Target> targets = {Target::q,    Target::k,  Target::v,   Target::o,
                                   Target::gate, Target::up, Target::down};
    DType adapter_dtype = DType::fp32;
    bool all_linear = false;  // The targets were given as one word for all of them.
    // PEFT's modules_to_save: embedding and head, trained whole as copies beside the originals.
    std::vector<Target> modules_to_save;
    // Of a model that sees: parts that are not trained and have no adapters. Adapters are on the
    // language model alone unless the job says otherwise.
    bool freeze_vision_tower = false;
    bool freeze_projector = false;
    bool freeze_language_model = false;
    bool freeze_feature_encoder = false;  // The convolutions of a model that hears samples.
  } method;

  // Keys of [method], [batch] and [engine], named as TRL's options are. A row is a prompt and one
  // answer to it: batch.sequence tokens in all.
  struct Preference {
    TrainerKind trainer = TrainerKind::sft;  // method.trainer
    bool precomputed = false;  // method.precompute_ref_log_probs: no reference while training.
    double beta = 0;           // method.beta; above 0: GRPO has a reference.
    std::uint64_t prompt = 0;  // batch.max_prompt_length: tokens that are no part of the answer.
    std::uint64_t generations = 8;  // batch.num_generations
    // batch.steps_per_generation: micro-batches whose answers are made together; nothing: as many
    // as are accumulated.
    std::optional<std::uint64_t> generation_steps;
    std::uint64_t iterations = 1;      // batch.num_iterations: trained steps for each generation.
    std::optional<double> vllm_share;  // method.vllm_gpu_memory_utilization, with use_vllm.
    std::string trl = "newest";        // engine.trl

    std::uint64_t answered(std::uint64_t sequence) const {
      return sequence > prompt ? sequence - prompt : 1;
    }
  } preference;

  struct Compute {
    DType dtype = DType::bf16;
    bool autocast = false;
    std::optional<Attention> attention;  // What the device has, flash if that is unknown.
    Checkpointing checkpointing = Checkpointing::none;
    bool padding = false;      // Samples of several lengths: sdpa is given a mask.
    bool reentrant = false;    // Checkpoints hold the gradient that they were given until they end.
    bool by_pytorch = false;   // No kernel was named: "sdpa", or nothing.
    bool own_windows = false;  // The kernel knows windows itself (flash_attention_2).
    bool activation_offloading = false;  // What layers keep waits in host memory.
    bool keep_outputs = false;
    Loss loss = Loss::eager;
    NormKernel norm = NormKernel::eager;
    // use_liger_kernel of TrainingArguments, and what its liger_kernel_config says of each kernel
    // (nothing: as apply_liger_kernel_to_… of the family has it, which is given no other ones).
    struct Liger {
      bool on = false;
      std::optional<bool> rope, rms_norm, swiglu, geglu, cross_entropy, fused_linear_cross_entropy;
    } liger;
    DType residual =
        DType::bf16;  // compute.dtype if not given; fp32 after PEFT's k-bit preparation.
    DType embeddings = DType::bf16;  // compute.dtype if not given. Of embeddings and head.
    // Which of the types that follow from dtype were given: a change of it in the job leaves those.
    struct Given {
      bool base = false;  // method.base
      bool residual = false;
      bool embeddings = false;
      bool attention = false;  // Models that cap their scores are run as eager where it was not.
    } given;
  } compute;

  struct Optimizer {
    OptimizerKind kind = OptimizerKind::adamw;
    bool foreach = true;
    bool fused = false;       // AdamW as one kernel, which needs nothing beside its operands.
    bool by_trainer = false;  // As transformers' Trainer sets it up: its name for it was given.
    bool offload = false;     // States and step in host memory.
    Master master = Master::none;  // fp32: a copy of the trained weights, with its own gradient.
    double learning_rate = 1e-3;
    double weight_decay = 0.01;  // 0 where not given for SGD and Adafactor.
    double momentum = 0;         // SGD's; 0: none.
    bool nesterov = false;
    bool relative_step = false;    // Adafactor finds its own rate; true where none is given.
    bool scale_parameter = false;  // It scales the rate by each parameter's size.
    bool warmup_init = false;
    double clip_threshold = 1;
    ScheduleKind schedule = ScheduleKind::constant;
    std::uint64_t warmup_steps = 0;       // Optimizer steps; at most one of the two is not 0.
    double warmup_ratio = 0;              // Of the run's optimizer steps, rounded up.
    std::optional<double> max_grad_norm;  // Of all gradients together; nothing: not clipped.
  } optimizer;

  struct Batch {
    std::optional<std::uint64_t> micro = 1;  // nullopt: "auto".
    std::uint64_t sequence = 1024;
    std::optional<std::uint64_t> accumulate = 1;  // nullopt: "auto".
    std::optional<std::uint64_t> global;
    std::optional<std::uint64_t> target;  // An encoder-decoder's labels; nothing: sequence.
    std::uint64_t prompt = 0;             // Inference: tokens given; sequence if not said.
    std::uint64_t generate = 0;           // Inference: tokens made after them.
    std::uint64_t images_per_sample = 0;  // Their tokens are among those of sequence or prompt.
    std::uint64_t image_height = 0;       // Pixels; 0: as large as the vision tower's.
    std::uint64_t image_width = 0;
  } batch;

  struct Engine {
    EngineKind kind = EngineKind::transformers;
    std::string transformers = "newest";
    std::string torch = "newest";  // Of an older transformers alone: one of its time.
    std::vector<std::string> command;
    std::uint64_t stages = 1;  // Of headroom's own: processes that its layers are shared out over.
  } engine;

  struct Device {
    std::optional<Bytes> capacity;
    std::optional<Bytes> host_capacity;  // Of what is offloaded, by headroom's own trainer.
    std::optional<std::string> gpu;
    std::string allocator = "torch";  // A policy's name.
    std::optional<Bytes> context;     // nullopt: "auto".
  } device;

  struct Data {
    std::vector<std::string> paths;  // Files or folders; relative to the job file.
    std::string kind = "text";  // "text": UTF-8 text. "tokens": whitespace-separated ids, a line a
                                // sample. "jsonl": texts, completions, conversations. "bin",
                                // "npy": arrays of ids.
    std::optional<std::string> dtype;      // Of the ids of "bin", if no header says it: "uint16" or
                                           // "uint32".
    std::optional<std::string> tokenizer;  // A tokenizer.json or its folder, or "bytes"; none: the
                                           // model's, if it has one.
    std::optional<std::string> chat_template;  // Of conversations; none: the tokenizer tells.
    bool packing = false;  // Samples lie end to end in rows of batch.sequence tokens.
    std::uint64_t epochs = 1;
    std::uint64_t seed = 1;
    // What is kept apart to evaluate on: a part of the samples, or files and folders of its own.
    std::optional<double> evaluation_share;
    std::vector<std::string> evaluation_paths;
    std::uint64_t evaluate_every = 0;  // Optimizer steps; 0: after every epoch.
  } data;

  struct Output {
    std::optional<std::string> folder;
  } output;
};

// Fails on the first problem: an unknown key (naming the nearest known one), a wrong type, an
// impossible value; always with the key's path and, for TOML, its line.
Result<Job> parse_job(const Document& document);

}  // namespace headroom::estimate

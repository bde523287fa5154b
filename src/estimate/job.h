// SPDX-License-Identifier: Apache-2.0
// A job as people write it (TOML) and programs send it (JSON): contracts.md, "Job". Every field has
// the default of the table there. `parse_job` is the only way in, so a Job in hand has been
// checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/document.h"
#include "base/result.h"

namespace headroom::estimate {

enum class DType : std::uint8_t { fp32, bf16, fp16 };
enum class MethodKind : std::uint8_t { full, lora };
enum class Attention : std::uint8_t { math, eager, sdpa_mask, efficient, flash };
enum class Checkpointing : std::uint8_t { none, layer };
enum class Loss : std::uint8_t { eager, chunked };
enum class EngineKind : std::uint8_t { headroom, transformers, command };
enum class Target : std::uint8_t { q, k, v, o, gate, up, down };

std::uint64_t size_of(DType dtype);  // Bytes per element.
std::string_view to_string(DType dtype);
std::string_view to_string(MethodKind kind);
std::string_view to_string(Attention attention);
std::string_view to_string(Checkpointing checkpointing);
std::string_view to_string(Loss loss);
std::string_view to_string(EngineKind kind);
std::string_view to_string(Target target);

struct Job {
  struct Model {
    std::optional<std::string> name;  // "Qwen/Qwen2.5-3B", looked up in the built-in table.
    std::optional<std::string>
        config_path;  // A Hugging Face folder or a config.json; relative to the job file.
    std::optional<Json> config;  // The object itself, in JSON jobs.
  } model;

  struct Method {
    MethodKind kind = MethodKind::full;
    DType base = DType::bf16;  // How the weights are held; compute.dtype if not given.
    std::uint64_t rank = 8;
    double alpha = 16;
    double dropout = 0;
    std::vector<Target> targets = {Target::q,    Target::k,  Target::v,   Target::o,
                                   Target::gate, Target::up, Target::down};
    DType adapter_dtype = DType::fp32;
  } method;

  struct Compute {
    DType dtype = DType::bf16;
    bool autocast = false;
    std::optional<Attention> attention;  // What the device has, flash if that is unknown.
    Checkpointing checkpointing = Checkpointing::none;
    bool keep_outputs = false;
    Loss loss = Loss::eager;
  } compute;

  struct Optimizer {
    bool foreach = true;  // AdamW is the only kind so far.
    double learning_rate = 1e-3;
    double weight_decay = 0.01;
  } optimizer;

  struct Batch {
    std::optional<std::uint64_t> micro = 1;  // nullopt: "auto".
    std::uint64_t sequence = 1024;
    std::optional<std::uint64_t> accumulate = 1;  // nullopt: "auto".
    std::optional<std::uint64_t> global;
  } batch;

  struct Engine {
    EngineKind kind = EngineKind::transformers;
    std::string transformers = "newest";
    std::vector<std::string> command;
  } engine;

  struct Device {
    std::optional<Bytes> capacity;
    std::optional<std::string> gpu;
    std::string allocator = "torch";  // A policy's name.
    std::optional<Bytes> context;     // nullopt: "auto".
  } device;

  struct Data {
    std::vector<std::string> paths;  // Files or folders; relative to the job file.
    std::string kind = "text";  // "text": bytes of UTF-8 text. "tokens": whitespace-separated ids,
                                // a line a sample.
    std::uint64_t epochs = 1;
    std::uint64_t seed = 1;
  } data;

  struct Output {
    std::optional<std::string> folder;
  } output;
};

// Fails on the first problem: an unknown key (naming the nearest known one), a wrong type, an
// impossible value; always with the key's path and, for TOML, its line.
Result<Job> parse_job(const Document& document);

}  // namespace headroom::estimate

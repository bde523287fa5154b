// SPDX-License-Identifier: Apache-2.0
// What a person tells llama.cpp that matters for memory, by the names of its own options
// (ggml-org/llama.cpp, common/arg.cpp and common/common.h, where the defaults are from).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate::llama {

enum class SplitMode : std::uint8_t { none, layer, row };
enum class Switch : std::uint8_t { off, on, automatic };
// Which program it is: a server holds the logits of a few tokens, the others of a whole batch.
enum class Program : std::uint8_t { server, other };

// --override-tensor: tensors whose name matches go to that buffer ("CPU", "CUDA1", "ROCm0").
struct Override {
  std::string pattern;
  std::string buffer;
};

struct Options {
  std::string model;  // A path.
  Program program = Program::server;
  std::uint64_t build = 0;                  // "b4701"; 0: the newest that is known.
  std::optional<std::uint64_t> gpu_layers;  // Nothing: all, as -1 and "auto" are.
  std::optional<std::uint64_t> context;     // Nothing or 0: what the model was trained with.
  std::uint64_t batch = 2048;
  std::uint64_t ubatch = 512;
  std::optional<std::uint64_t> parallel;  // Nothing: a server's own choice, 4; others 1.
  std::optional<bool> kv_unified;         // Nothing: where the server chose `parallel`.
  Switch flash_attention = Switch::automatic;
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  bool swa_full = false;
  bool kv_offload = true;
  bool op_offload = true;
  bool mmap = true;
  bool embeddings = false;  // --embedding: every token's output is kept.
  SplitMode split_mode = SplitMode::layer;
  std::uint64_t main_gpu = 0;
  std::vector<double> tensor_split;
  std::vector<std::string> devices;  // --device: "ROCm0", "ROCm1".
  std::uint64_t cpu_moe_layers = 0;  // --n-cpu-moe; --cpu-moe is all of them.
  std::vector<Override> overrides;
};

// The options as they were understood, and what of the words was not.
struct ReadOptions {
  Options options;
  std::vector<std::string> unread;  // Options that this version does not know or need.
};

// A command's words behind the program's own name: "-m", "model.gguf", "-ngl", "99". Fails on a
// known option whose value is missing or of another kind.
Result<ReadOptions> parse_options(const std::vector<std::string>& words);

// The keys of a job's [engine], which are the long names: n-gpu-layers = 99, ctx-size = 8192.
// Environment variables' names (LLAMA_ARG_CTX_SIZE) are taken as well. Fails on an unknown key.
Result<ReadOptions> read_options(const Json& engine);

// Whether the first word starts a program of llama.cpp: llama-server, llama-cli, main …
bool is_llama_command(const std::vector<std::string>& words);

}  // namespace headroom::estimate::llama

// SPDX-License-Identifier: Apache-2.0
// What a person tells vLLM that matters for memory, by the names of its own options
// (vllm-project/vllm: vllm/engine/arg_utils.py and vllm/config/, where the defaults are from).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate::vllm {

// "0.8.5": 0, 8, 5. Comparing two of them is comparing versions.
struct Version {
  std::uint64_t major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};

struct Options {
  std::string model;  // A name of the hub, or the path of a folder.
  std::string dtype = "auto";
  std::string kv_cache_dtype = "auto";
  std::string quantization;                 // Empty: what the checkpoint says.
  std::optional<Version> version;           // Nothing: the newest that is known.
  std::optional<bool> use_v1;               // VLLM_USE_V1
  std::optional<bool> estimate_graphs;      // VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS
  std::optional<double> utilization;        // Of the card's whole memory.
  std::optional<std::uint64_t> max_length;  // Nothing: what the model was trained with.
  std::optional<std::uint64_t> max_sequences;
  std::optional<std::uint64_t> batched_tokens;
  std::optional<std::uint64_t> kv_cache_bytes;  // --kv-cache-memory-bytes
  std::uint64_t tensor_parallel = 1;
  std::uint64_t block_size = 16;
  bool enforce_eager = false;
  std::optional<bool> chunked_prefill;
};

struct ReadOptions {
  Options options;
  std::vector<std::string> unread;  // Options that this version does not know or need.
};

// A command's words behind the program's own: "Qwen/Qwen3-8B", "--max-model-len", "8192"; the first
// that is no option's value is the model. Fails on a known option whose value is missing or of
// another kind, and on what is not planned (pipelines, drafts, adapters are named as not read).
Result<ReadOptions> parse_options(const std::vector<std::string>& words);

// The keys of a job's [engine], which are the long names: max-model-len = 8192. Fails on an unknown
// key.
Result<ReadOptions> read_options(const Json& engine);

// The same of one environment variable, "VLLM_USE_V1=0"; what is none of vLLM's is left alone.
Result<Done> take_variable(const std::string& assignment, Options& options);

}  // namespace headroom::estimate::vllm

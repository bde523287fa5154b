// SPDX-License-Identifier: Apache-2.0
// What a version of vLLM decides by itself: which engine it is, its defaults, how its sampler
// filters. Sources: vllm-project/vllm, vllm/engine/arg_utils.py (get_batch_defaults,
// _set_default_args), vllm/config/cache.py, vllm/v1/sample/ops/topk_topp_sampler.py (pull request
// 33538), vllm/envs.py.
#pragma once

#include <cstdint>
#include <string>

#include "estimate/vllm/options.h"

namespace headroom::estimate::vllm {

struct Card {
  std::string name;
  std::uint64_t total_bytes = 0;  // 0: not known.
  std::uint64_t held_bytes = 0;   // By other processes, before vLLM starts.
  std::uint64_t context_bytes = 0;
  std::uint64_t blas_workspace_bytes = 0;
};

struct Rules {
  bool v1 = true;
  double utilization = 0.92;
  std::uint64_t max_length = 0;
  std::uint64_t max_sequences = 0;
  std::uint64_t batched_tokens = 0;  // Of the profile run.
  bool chunked_prefill = true;
  bool sorts_logits = false;     // Top-k and top-p by PyTorch's sort; else by a kernel in place.
  bool graphs_in_share = false;  // Graphs are estimated before the cache is sized.
};

// What `options` leave open is filled in. `trained_length` is the model's own.
Rules rules_of(const Options& options, std::uint64_t trained_length, const Card& card);

}  // namespace headroom::estimate::vllm

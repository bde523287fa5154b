// SPDX-License-Identifier: Apache-2.0
// What a model takes on each GPU under vLLM, and what is left for its cache.
#pragma once

#include <cstdint>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/vllm/kv_cache.h"
#include "estimate/vllm/profile.h"
#include "estimate/vllm/weights.h"

namespace headroom::estimate::vllm {

// What vLLM measures itself and nobody knows before: between the least and the most that load logs
// show.
struct Range {
  std::uint64_t low_bytes = 0;
  std::uint64_t high_bytes = 0;
};

struct Memory {
  Rules rules;
  Storage storage;
  std::uint64_t weights_bytes = 0;
  ProfileRun profile;
  CacheLayout cache;
  Range other;                     // "non_torch_memory"
  Range graphs;                    // Beside the share, or within it (Rules::graphs_in_share).
  std::uint64_t budget_bytes = 0;  // The share of the card that vLLM takes; 0: no card is known.
  Range available;                 // For the cache. 0 where nothing is left.

  // Whether the cache has the blocks of one request of the full length, at best and at worst.
  bool holds_at_best() const;
  bool holds_at_worst() const;
};

// Fails where a model's cache is not planned: latent attention, recurrent layers, convolutions, two
// stacks that see each other. `config` tells.
Result<Done> check_kind(const Architecture& model, const Json& config);

// Fails on a quantisation that is not planned and where the GPUs cannot share the heads.
Result<Memory> measure(const Architecture& model, const Options& options, const Card& card);

}  // namespace headroom::estimate::vllm

// SPDX-License-Identifier: Apache-2.0
// Sizes of a context that follow from the options: tokens, sequences, cells of the caches. Source
// of the rules: ggml-org/llama.cpp, src/llama-context.cpp (constructor and sched_reserve) and
// src/llama-kv-cache-iswa.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/build.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/options.h"
#include "estimate/llama_cpp/placement.h"

namespace headroom::estimate::llama {

struct Context {
  Build build;
  std::uint64_t context = 0;       // In all.
  std::uint64_t cells = 0;         // Of one stream of the cache.
  std::uint64_t window_cells = 0;  // Of layers with a window.
  std::uint64_t sequences = 1;
  std::uint64_t streams = 1;
  std::uint64_t tokens = 0;   // Of the largest step.
  std::uint64_t outputs = 0;  // Of it, whose logits are computed.
  bool flash = false;
  std::uint32_t type_k = f16;
  std::uint32_t type_v = f16;
};

// Fails on a type of cache that is none, and on a quantised V without flash attention.
Result<Context> make_context(const Model& model, const Options& options);

// Bytes of the caches of keys and values, and of recurrent states, on each backend.
struct CacheBytes {
  std::vector<std::uint64_t> keys_values;
  std::vector<std::uint64_t> states;
};
CacheBytes cache_bytes(const Model& model, const Options& options, const Context& context,
                       const Placement& placement);

}  // namespace headroom::estimate::llama

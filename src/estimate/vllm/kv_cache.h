// SPDX-License-Identifier: Apache-2.0
// Blocks of vLLM's cache of keys and values. Where some layers see a window and others all, layers
// are put into groups of one size; a block is then a page of every layer of one group. Source:
// vllm-project/vllm, vllm/v1/core/kv_cache_utils.py (get_kv_cache_groups, get_kv_cache_config) and
// vllm/v1/kv_cache_interface.py.
#pragma once

#include <cstdint>
#include <string>

#include "estimate/models/architecture.h"
#include "estimate/vllm/options.h"
#include "estimate/vllm/rules.h"

namespace headroom::estimate::vllm {

struct CacheLayout {
  std::string type;                   // Of its elements: "bfloat16", "fp8".
  std::uint64_t page_bytes = 0;       // One layer's keys and values of one block, on one GPU.
  std::uint64_t layers_in_group = 0;  // Pages that one block is.
  std::uint64_t groups = 1;
  std::uint64_t block_size = 16;     // In tokens.
  std::uint64_t request_blocks = 0;  // Of one request of max_length tokens, in all groups.
  std::uint64_t token_bytes = 0;     // Of a token that all layers see, on one GPU.

  std::uint64_t block_bytes() const { return page_bytes * layers_in_group; }
  std::uint64_t blocks(std::uint64_t bytes) const { return bytes / block_bytes(); }
  // "GPU KV cache size: N tokens"
  std::uint64_t tokens(std::uint64_t bytes) const { return blocks(bytes) / groups * block_size; }
  // "Maximum concurrency for N tokens per request"
  double concurrency(std::uint64_t bytes) const {
    return static_cast<double>(blocks(bytes)) / static_cast<double>(request_blocks);
  }
};

CacheLayout cache_layout(const Architecture& model, const Options& options, const Rules& rules,
                         const std::string& dtype, std::uint64_t type_size);

}  // namespace headroom::estimate::vllm

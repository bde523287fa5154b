// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/kv_cache.h"

#include <algorithm>
#include <map>

namespace headroom::estimate::vllm {
namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Layers by the window that they see; 0 is all.
std::map<std::uint64_t, std::uint64_t> layers_by_window(const Stack& stack,
                                                        std::uint64_t max_length) {
  std::map<std::uint64_t, std::uint64_t> layers;
  for (std::uint64_t i = 0; i < stack.layers; ++i) {
    const std::uint64_t window = stack.window(i);
    ++layers[window >= max_length ? 0 : window];
  }
  return layers;
}

std::uint64_t blocks_of(std::uint64_t window, const Rules& rules, std::uint64_t block_size) {
  const std::uint64_t whole = divide_up(rules.max_length, block_size);
  if (window == 0) return whole;
  // What a chunk of a prompt writes beside the window; its first block may be used in part.
  const std::uint64_t tokens = std::min(window - 1 + rules.batched_tokens, rules.max_length);
  return divide_up(tokens, block_size) + 1;
}

}  // namespace

CacheLayout cache_layout(const Architecture& model, const Options& options, const Rules& rules,
                         const std::string& dtype, std::uint64_t type_size) {
  const Stack& stack = model.main();
  const AttentionShape& shape = stack.attention;
  CacheLayout layout;
  layout.type = options.kv_cache_dtype == "auto" ? dtype : options.kv_cache_dtype;
  layout.block_size = options.block_size;
  std::uint64_t element = options.kv_cache_dtype == "auto" ? type_size : 2;
  if (options.kv_cache_dtype.starts_with("fp8")) element = 1;
  const std::uint64_t heads = std::max<std::uint64_t>(1, shape.kv_heads / options.tensor_parallel);
  const std::uint64_t layer_bytes = 2 * heads * shape.head_dim * element;
  layout.page_bytes = layer_bytes * layout.block_size;
  layout.token_bytes = layer_bytes * stack.layers;
  layout.layers_in_group = stack.layers;
  layout.request_blocks = blocks_of(0, rules, layout.block_size);
  const auto kinds = layers_by_window(stack, rules.max_length);
  if (!rules.v1 || (kinds.size() == 1 && kinds.begin()->first == 0)) return layout;
  std::uint64_t least = stack.layers, most = 0;
  for (const auto& [window, count] : kinds) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  // Kinds of nearly the same size are padded to the larger one.
  layout.layers_in_group = 4 * most < 5 * least ? most : least;
  layout.groups = 0;
  layout.request_blocks = 0;
  for (const auto& [window, count] : kinds) {
    const std::uint64_t groups = divide_up(count, layout.layers_in_group);
    layout.groups += groups;
    layout.request_blocks += groups * blocks_of(window, rules, layout.block_size);
  }
  return layout;
}

}  // namespace headroom::estimate::vllm

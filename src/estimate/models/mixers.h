// SPDX-License-Identifier: Apache-2.0
// What stands in the place of attention in some layers of a hybrid. Sizes are those of config.json,
// in elements.
#pragma once

#include <cstdint>

namespace headroom::estimate {

// Which first half a layer has.
enum class Mixer : std::uint8_t { attention, delta_net, short_convolution };

// Linear attention by the gated delta rule. Source: transformers,
// models/{qwen3_next,qwen3_5}/modeling_*.py (…GatedDeltaNet).
struct DeltaNet {
  std::uint64_t key_heads = 0;    // linear_num_key_heads, of queries as well
  std::uint64_t value_heads = 0;  // linear_num_value_heads, a multiple of key_heads
  std::uint64_t key_dim = 0;      // linear_key_head_dim
  std::uint64_t value_dim = 0;    // linear_value_head_dim
  std::uint64_t kernel = 0;       // linear_conv_kernel_dim
  // Queries, keys, values and gates come from one matrix, both small rows from another
  // (Qwen3-Next); else gates and each of the rows have a matrix of their own (Qwen3.5).
  bool joined = false;

  std::uint64_t keys() const { return key_heads * key_dim; }
  std::uint64_t values() const { return value_heads * value_dim; }
  std::uint64_t channels() const { return 2 * keys() + values(); }  // Of the convolution.
  std::uint64_t matrices(std::uint64_t hidden) const {
    return hidden * (channels() + 2 * values() + 2 * value_heads);
  }
  // With the convolution, A, the steps' bias and the norm of a head.
  std::uint64_t parameters(std::uint64_t hidden) const {
    return matrices(hidden) + channels() * kernel + 2 * value_heads + value_dim;
  }
};

// Two gates around a convolution of a few tokens. Source: transformers,
// models/lfm2/modeling_lfm2.py (Lfm2ShortConv).
struct ShortConvolution {
  std::uint64_t kernel = 0;  // conv_L_cache
  bool bias = false;         // conv_bias, of both matrices and of the convolution

  std::uint64_t matrices(std::uint64_t hidden) const { return 4 * hidden * hidden; }
  std::uint64_t parameters(std::uint64_t hidden) const {
    return matrices(hidden) + hidden * kernel + (bias ? 5 * hidden : 0);
  }
};

}  // namespace headroom::estimate

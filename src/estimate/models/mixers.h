// SPDX-License-Identifier: Apache-2.0
// What stands in the place of attention in some layers of a hybrid. Sizes are those of config.json,
// in elements.
#pragma once

#include <cstdint>

namespace headroom::estimate {

// What a layer has in the place of attention.
enum class Mixer : std::uint8_t {
  attention,
  delta_net,
  short_convolution,
  mamba2,
  attention_beside_mamba2,  // Both are given the same rows, and added (Falcon-H1).
  feed_forward,             // Of layers of one half: it is the second (Nemotron-H).
};

inline bool contains(Mixer layer, Mixer part) {
  return layer == part || (layer == Mixer::attention_beside_mamba2 &&
                           (part == Mixer::attention || part == Mixer::mamba2));
}

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

// Selective state spaces of heads, chunk by chunk (Mamba-2). Source: transformers,
// models/{granitemoehybrid,bamba,falcon_h1,nemotron_h,mamba2}/modeling_*.py (…MambaLayer, …Mixer).
struct Mamba2 {
  std::uint64_t heads = 0;     // mamba_n_heads
  std::uint64_t head_dim = 0;  // mamba_d_head
  std::uint64_t state = 0;     // mamba_d_state
  std::uint64_t groups = 1;    // mamba_n_groups, of heads that share B and C
  std::uint64_t kernel = 0;    // mamba_d_conv
  std::uint64_t chunk = 0;     // mamba_chunk_size, in tokens
  bool bias = false;           // mamba_proj_bias, of the first matrix
  bool out_bias = false;       // Of the second.
  bool conv_bias = true;       // mamba_conv_bias
  // A norm with weights stands behind the gate, in front of it, or nowhere (Falcon-H1).
  enum class NormPlace : std::uint8_t { behind_gate, before_gate, none };
  NormPlace norm = NormPlace::behind_gate;
  // What it is given is multiplied by a number, what the first matrix gives by a row, and what
  // either kind of mixer gives by a number (Falcon-H1).
  bool scaled = false;

  std::uint64_t inner() const { return heads * head_dim; }
  std::uint64_t channels() const { return inner() + 2 * groups * state; }  // Of the convolution.
  std::uint64_t rows() const { return inner() + channels() + heads; }      // Of in_proj.
  std::uint64_t matrices(std::uint64_t hidden) const { return hidden * (rows() + inner()); }
  // With the convolution, A, D, the steps' bias and the norm.
  std::uint64_t parameters(std::uint64_t hidden) const {
    return matrices(hidden) + (bias ? rows() : 0) + (out_bias ? hidden : 0) +
           channels() * (kernel + (conv_bias ? 1 : 0)) + 3 * heads +
           (norm == NormPlace::none ? 0 : inner());
  }
};

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: a token's keys and values are stored as one narrow row for all heads
// and one rotated key, from which each head's are made anew. Source: transformers,
// models/{deepseek_v2,deepseek_v3}/modeling_*.py.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::estimate {

// Sizes are those of config.json, in elements.
struct LatentAttention {
  std::uint64_t q_rank = 0;     // q_lora_rank; 0: q is made at once.
  std::uint64_t kv_rank = 0;    // kv_lora_rank
  std::uint64_t nope = 0;       // qk_nope_head_dim: the part of q and k that is not turned.
  std::uint64_t rope = 0;       // qk_rope_head_dim: the part that is.
  std::uint64_t value = 0;      // v_head_dim
  bool bias = false;            // attention_bias, of the two matrices that narrow, and of o.
  bool complex_angles = false;  // Heads are turned in fp32, by complex numbers (DeepSeek-V2).
  std::string q_narrow = "q_a_proj";
  std::string q_norm = "q_a_layernorm";
  std::string q_widen = "q_b_proj";
  std::string kv_narrow = "kv_a_proj_with_mqa";
  std::string kv_norm = "kv_a_layernorm";
  std::string kv_widen = "kv_b_proj";

  std::uint64_t query_head() const { return nope + rope; }
};

}  // namespace headroom::estimate

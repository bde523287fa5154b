// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer, read from a Hugging Face config.json (families llama and
// qwen2; field names and defaults as in transformers' LlamaConfig, Qwen2Config, MistralConfig).
#pragma once

#include <cstdint>
#include <string>

#include "base/document.h"
#include "base/result.h"

namespace headroom::estimate {

struct ModelConfig {
  std::string family;              // model_type: "llama", "mistral", "qwen2".
  std::uint64_t hidden = 0;        // hidden_size
  std::uint64_t intermediate = 0;  // intermediate_size
  std::uint64_t layers = 0;        // num_hidden_layers
  std::uint64_t heads = 0;         // num_attention_heads
  std::uint64_t kv_heads = 0;      // num_key_value_heads; heads if absent
  std::uint64_t head_dim = 0;      // head_dim; hidden / heads if absent or null
  std::uint64_t vocabulary = 0;    // vocab_size
  bool tied = false;               // tie_word_embeddings: lm_head shares the embedding's weight
  bool qkv_bias = false;           // implied by qwen2; attention_bias in llama
  bool o_bias = false;             // attention_bias in llama; never in qwen2
  bool mlp_bias = false;           // mlp_bias in llama
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;

  std::uint64_t query_size() const { return heads * head_dim; }
  std::uint64_t kv_size() const { return kv_heads * head_dim; }
  std::uint64_t parameters() const;  // All of them; a tied head counts once.
};

// Unknown keys are ignored (contracts.md); a needed key that is absent, of a wrong type or
// impossible is an error that names it, what was found, and the families that are supported.
Result<ModelConfig> parse_model_config(const Json& config);

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder as headroom-train runs it: Llama, Mistral, Qwen2, Qwen3, Phi-3, Gemma,
// Gemma 2 and GPT-2 (field names as in transformers' LlamaConfig, MistralConfig, Qwen2Config,
// Qwen3Config, Phi3Config, GemmaConfig and Gemma2Config; GPT2Config has n_embd, n_inner, n_layer,
// n_head).
// What is planned for other engines is an Architecture (models/architecture.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/models/architecture.h"
#include "estimate/rotary_scaling.h"

namespace headroom::estimate {

struct Job;

struct ModelConfig {
  // model_type: "llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "gemma2", "gpt2".
  std::string family;
  std::uint64_t hidden = 0;        // hidden_size
  std::uint64_t intermediate = 0;  // intermediate_size
  std::uint64_t layers = 0;        // num_hidden_layers
  std::uint64_t heads = 0;         // num_attention_heads
  std::uint64_t kv_heads = 0;      // num_key_value_heads; heads if absent
  std::uint64_t head_dim = 0;      // head_dim; hidden / heads if absent or null
  std::uint64_t vocabulary = 0;    // vocab_size
  bool tied = false;               // tie_word_embeddings: lm_head shares the embedding's weight
  bool qkv_bias = false;           // implied by qwen2; attention_bias in llama and qwen3
  bool o_bias = false;             // attention_bias in llama and qwen3; never in qwen2
  bool mlp_bias = false;           // mlp_bias in llama
  double rms_norm_eps = 1e-6;      // layer_norm_epsilon in gpt2
  double rope_theta = 10000.0;
  RotaryScaling rotary = {};  // rope_scaling, rope_parameters
  bool qk_norm = false;  // Qwen3: an RMSNorm of head_dim on each head of q and of k, before rotary.
  bool fused = false;    // Phi-3: q, k and v are rows of one matrix, gate and up of another.
  // Of each layer, how many tokens a query sees, its own included; 0: all. Empty: all see all.
  std::vector<std::uint64_t> windows = {};
  // n_positions in gpt2: rows of a table of learned positions; 0: rotary.
  std::uint64_t position_rows = 0;
  // Gemma's layer in place of Llama's: norms multiply by 1 + weight, the embedding's rows are
  // multiplied by √hidden, and the gate goes through gelu_pytorch_tanh.
  bool gemma = false;
  bool norms_around = false;  // Gemma 2: what o and down give is normalised before it is added.
  // Gemma 2: query_pre_attn_scalar, by whose root scores are divided; 0: by that of head_dim.
  double query_scalar = 0;
  double score_cap = 0;  // attn_logit_softcapping; 0: none
  double logit_cap = 0;  // final_logit_softcapping; 0: none

  // GPT-2's layer in place of Llama's: LayerNorm with a bias, one projection for q, k and v, an MLP
  // without a gate (gelu_new), every bias, and matrices that are stored [in, out].
  bool is_gpt2() const { return position_rows > 0; }
  std::uint64_t window(std::uint64_t layer) const { return windows.empty() ? 0 : windows[layer]; }
  std::uint64_t query_size() const { return heads * head_dim; }
  std::uint64_t kv_size() const { return kv_heads * head_dim; }
  std::uint64_t parameters() const;  // All of them; a tied head counts once.
};

// The decoder of an architecture, if headroom-train has its layers; else what it found and what it
// can do.
// Numbers that change no size, query_scalar and the caps, are those of the family's class.
Result<ModelConfig> decoder_config(const Architecture& architecture);
Architecture architecture_of(const ModelConfig& config);

// Reads from config.json the numbers that an Architecture has not: how rotary positions are scaled,
// query_pre_attn_scalar, attn_logit_softcapping and final_logit_softcapping of Gemma 2. Fails on
// one that is not a number above 0, and as read_rotary_scaling() does, naming the key.
Status read_numbers(const Json& config, ModelConfig& model);

// Refuses sequences beyond model.rotary.longest: in transformers longer ones are turned by other
// frequencies, micro-batch by micro-batch, which headroom-train does not do.
Status check_scaled_length(const Job& job, const ModelConfig& model);

// parse_architecture, then decoder_config and read_numbers.
Result<ModelConfig> parse_model_config(const Json& config);

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in place of the MLP, and how tokens are sent to them. Sizes are those of
// config.json, in elements.
#pragma once

#include <cstdint>
#include <vector>

namespace headroom::estimate {

// How tokens are sent to experts: what is made of the router's product.
enum class Routing : std::uint8_t {
  softmax,               // In fp32, over all; the best are taken, in the hidden states' type.
  kept_softmax,          // The same, left in fp32 since transformers 5 (Mixtral).
  wide_softmax,          // The product itself is in fp32, and so are the shares (DeepSeek-V2).
  wide_sigmoid,          // The same, groups of experts chosen first (DeepSeek-V3).
  softmax_of_best,       // Of the best ones' logits, in their type (gpt-oss).
  wide_softmax_of_best,  // Of theirs in fp32 (GraniteMoE).
  sparse_mixer,          // Two experts, one after the other, with a gradient of its own (PhiMoE).
};

struct Experts {
  std::uint64_t count = 0;
  std::uint64_t per_token = 0;
  std::uint64_t intermediate = 0;         // Of one expert.
  std::uint64_t shared_intermediate = 0;  // Of the one that every token passes; 0: none.
  bool shared_gate = true;                // It has a gate of one row (Qwen2-MoE).
  bool shared_fused = false;              // Its gate and up are one matrix (GraniteMoE).
  Routing routing = Routing::softmax;
  bool bias = false;     // Of the router and of each expert's matrices (gpt-oss).
  bool clamped = false;  // gpt-oss's gate: both halves are clamped, times a sigmoid, plus 1.
  std::vector<bool> layers = {};  // Which layers have them; empty: all.

  bool in_layer(std::uint64_t layer) const { return layers.empty() || layers[layer]; }
};

}  // namespace headroom::estimate

// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/profile.h"

#include <algorithm>

namespace headroom::estimate::vllm {
namespace {

// Elements for each token at the highest moment of an MLP. The caller still holds what the layer
// was given, the residual and what the norm made; down's output comes into being while gate and up,
// and their product, are there.
std::uint64_t mlp_elements(const Stack& stack, std::uint64_t ranks) {
  std::uint64_t inner = 0;
  if (stack.experts) {
    // The fused kernel's two caches, for each expert of a token.
    const std::uint64_t expert = stack.experts->intermediate / ranks;
    inner = stack.experts->per_token * (std::max(2 * expert, stack.hidden) + expert);
  }
  const bool all_experts = stack.experts && stack.experts->layers.empty();
  if (!all_experts)
    inner = std::max(inner, (stack.mlp.gated ? 3 : 2) * stack.mlp.intermediate / ranks);
  return inner + 4 * stack.hidden;
}

// q, k and v in one, what attention gives, and the output projection's.
std::uint64_t attention_elements(const Stack& stack, std::uint64_t ranks) {
  const AttentionShape& shape = stack.attention;
  const std::uint64_t kv = std::max(shape.kv_heads, ranks) * shape.head_dim;
  return (2 * shape.query_size() + 2 * kv) / ranks + 4 * stack.hidden;
}

// Bytes for each logit, in 16 bits as the head gives them: a copy in fp32; by sorting, the sorted
// values and their places (4 + 8), the places before (8), and a second buffer of keys and places in
// which the radix sort works (4 + 8); in place, the probabilities and as many random numbers.
std::uint64_t bytes_for_each_logit(bool sorts) {
  constexpr std::uint64_t half = 2, wide = 4, place = 8;
  const std::uint64_t both = half + wide;
  return both + (sorts ? 2 * (wide + place) + place : 2 * wide);
}

}  // namespace

ProfileRun profile_run(const Architecture& model, const Options& options, const Rules& rules,
                       std::uint64_t type_size, std::uint64_t workspace_bytes) {
  const Stack& stack = model.main();
  const std::uint64_t ranks = options.tensor_parallel;
  ProfileRun run;
  run.workspace_bytes = workspace_bytes;
  std::uint64_t elements = std::max(mlp_elements(stack, ranks), attention_elements(stack, ranks));
  if (ranks > 1) elements += stack.hidden;  // The all-reduce gives a new tensor.
  run.layer_bytes = rules.batched_tokens * elements * type_size;
  const std::uint64_t sequences = std::min(rules.max_sequences, rules.batched_tokens);
  constexpr std::uint64_t sorted_below = 8, programs_max = 128;
  const bool sorts = rules.sorts_logits || sequences < sorted_below;
  run.sampler_bytes = sequences * model.vocabulary * bytes_for_each_logit(sorts) +
                      rules.batched_tokens * stack.hidden * type_size;
  // Rows in which the kernel gathers candidates, one for each program.
  if (!sorts) run.sampler_bytes += std::min(sequences, programs_max) * model.vocabulary * 4;
  return run;
}

}  // namespace headroom::estimate::vllm

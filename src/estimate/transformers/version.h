// SPDX-License-Identifier: Apache-2.0
// Versions of transformers, as far as a step's memory depends on them.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace headroom::estimate::transformers {

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const Version&) const = default;
};

// "4.48.1" → 4.48; anything that is no number ("newest") is newer than all.
Version parse_version(std::string_view text);

// Where ForCausalLMLoss came, which widens the logits itself while the model still holds its own
// (src/transformers/loss/loss_utils.py; before, the model's forward replaced its logits).
inline constexpr Version loss_function{4, 46};
// From here on labels are shifted, not logits: no shifted copy.
inline constexpr Version shifted_labels{4, 51};

// From here on sdpa is given masks of bools (masking_utils.py, sdpa_mask).
inline constexpr Version bool_masks{4, 53};
// integrations/sdpa_attention.py: from the one on, keys and values of grouped heads are not
// repeated where there is no mask; before the other, q, k and v are made contiguous.
inline constexpr Version grouped_sdpa{4, 54};
inline constexpr Version strided_sdpa{4, 56};
// From here on a cache begins empty (cache_utils.py, DynamicLayer) and copies what it is given.
inline constexpr Version joined_cache{4, 54};

// configuration_t5.py: from here on tie_word_embeddings says only whether the head's input is
// scaled.
inline constexpr Version always_tied_t5{5, 0};
// modeling_t5.py: from here on its attention is that of other models. Its softmax is not widened,
// and sdpa is given its positions as a mask (integrations/sdpa_attention.py,
// create_position_bias_mask); before, there was no sdpa.
inline constexpr Version common_t5_attention{5, 15};

// modeling_utils.py, enable_input_require_grads: from here on every embedding of a model is asked
// for, that of patches as well. Before, the language model's alone.
inline constexpr Version all_inputs_want_gradients{5, 0};

// integrations/moe.py: from here on all experts are one grouped product, whose results are summed
// in a shape of their own; before, each expert's rows are added to the sum (index_add_).
inline constexpr Version grouped_experts{5, 0};
// From here on a model that caps its attention scores has no sdpa; before, sdpa did not cap them.
inline constexpr Version capped_is_eager{5, 0};

// Of the PyTorch that a job runs with. Where only an older transformers is named it is taken to be
// of its time: before 2.15 in any case, for transformers 5 came earlier.
Version torch_version(std::string_view torch, Version transformers);

// From here on CUDA's products take their workspace for as long as they run; before, and on ROCm to
// this day, each handle keeps one (aten/src/ATen/cuda/CublasHandlePool.cpp,
// isCUDABlasWorkspaceCachingEnabled; cuBLASLt's is 1 MiB there, parseCUDABlasLtWorkspaceSize).
inline constexpr Version product_workspaces{2, 15};
// The efficient kernel reads grouped heads (sdp_utils.cpp); before, flash alone did.
inline constexpr Version grouped_efficient{2, 15};
inline constexpr std::uint64_t lt_workspace_bytes = std::uint64_t{1} << 20U;

}  // namespace headroom::estimate::transformers

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

// From here on a cache begins empty (cache_utils.py, DynamicLayer) and copies what it is given.
inline constexpr Version joined_cache{4, 54};

// Of the PyTorch that a job runs with. Where only an older transformers is named it is taken to be
// of its time: before 2.15 in any case, for transformers 5 came earlier.
Version torch_version(std::string_view torch, Version transformers);

// From here on CUDA's products take their workspace for as long as they run; before, and on ROCm to
// this day, each handle keeps one (aten/src/ATen/cuda/CublasHandlePool.cpp,
// isCUDABlasWorkspaceCachingEnabled; cuBLASLt's is 1 MiB there, parseCUDABlasLtWorkspaceSize).
inline constexpr Version product_workspaces{2, 15};
inline constexpr std::uint64_t lt_workspace_bytes = std::uint64_t{1} << 20U;

}  // namespace headroom::estimate::transformers

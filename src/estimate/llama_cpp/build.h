// SPDX-License-Identifier: Apache-2.0
// Rules of llama.cpp that changed from one build to another, as far as memory shows it. The numbers
// are those of the pull requests' days (ggml-org/llama.cpp), and may be some tens of builds off.
#pragma once

#include <cstdint>

namespace headroom::estimate::llama {

// What a build does otherwise than the newest one.
struct Build {
  bool fused_glu = true;          // One operation for the gate's activation and its product.
  bool writes_by_rows = true;     // Into the cache by set_rows, with indices as inputs.
  bool half_mask = true;          // Flash attention's mask is made in fp16, not cast from fp32.
  bool embedding_input = true;    // An input for ready-made embeddings beside the tokens'.
  bool few_outputs = true;        // A server reserves logits for few tokens.
  bool rotates_cache = true;      // Quantised caches hold rotated heads.
  bool converts_in_graph = true;  // Flash attention's fp16 copies of K and V lie behind its result.
  bool pads_context = true;       // To 256 cells, each sequence with a stream of its own.
  bool automatic_flash = true;
  bool automatic_parallel = true;
  bool has_windowed_cache = true;
  bool output_first = true;    // The output layer is the first to go to a GPU, not the last.
  bool value_first = true;     // V is computed before K.
  bool copies_latent = false;  // Latent attention made its parts dense first.
  bool values_in_keys = true;  // A latent's cache has keys alone, whose first part are the values.
  bool copies_unread_inputs = true;  // A pipeline copies inputs that no operation reads as well.
  bool keeps_fused = true;           // A GPU's fused operations keep what they read to their end.
};
Build build_of(std::uint64_t number);  // 0: the newest.

}  // namespace headroom::estimate::llama

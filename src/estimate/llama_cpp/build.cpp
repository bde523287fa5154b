// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/build.h"

namespace headroom::estimate::llama {

Build build_of(std::uint64_t number) {
  Build build;
  if (number == 0) return build;
  build.has_windowed_cache = number >= 5427;  // #13194
  build.fused_glu = number >= 5780;           // #14158
  build.writes_by_rows = number >= 6080;      // #14285, by default since #14959
  build.automatic_flash = number >= 6325;     // #15434
  build.pads_context = number >= 6890;        // #14363, #16812
  build.automatic_parallel = number >= 7190;  // #16736
  build.embedding_input = number >= 7650;     // #18550
  build.output_first = number >= 7200;
  build.value_first = number >= 7100;
  build.rotates_cache = number >= 8600;  // #21038
  build.half_mask = number >= 9430;      // #23764
  build.converts_in_graph = number >= 9430;
  build.few_outputs = number >= 9430;     // #23527
  build.copies_latent = number < 5130;    // Until #12801.
  build.values_in_keys = number >= 7830;  // #19067
  build.copies_unread_inputs = number >= 10500;
  build.keeps_fused = number >= 10640;  // #27301, #25952
  return build;
}

}  // namespace headroom::estimate::llama

// SPDX-License-Identifier: Apache-2.0
// A selective state space in place of attention and MLP. Source: transformers,
// models/{mamba,falcon_mamba}/modeling_*.py.
#pragma once

#include <cstdint>

namespace headroom::estimate {

// Sizes are those of config.json, in elements.
struct StateSpace {
  std::uint64_t inner = 0;      // intermediate_size, expand × hidden_size
  std::uint64_t state = 0;      // state_size
  std::uint64_t kernel = 0;     // conv_kernel
  std::uint64_t step_rank = 0;  // time_step_rank
  bool bias = false;            // use_bias, of in_proj and out_proj
  bool conv_bias = true;        // use_conv_bias
  bool wide_residual = true;    // residual_in_fp32
  bool norms_parts = false;     // B, C and the time step are divided by their root mean square
                                // (Falcon-Mamba), without a weight.
};

}  // namespace headroom::estimate

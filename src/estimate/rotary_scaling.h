// SPDX-License-Identifier: Apache-2.0
// How a model turns its heads for longer texts than it was first trained on: the rope types of
// transformers (modeling_rope_utils.py), all of which come down to slower frequencies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate {

struct RotaryScaling {
  // "default", or the type with its settings: "llama3, factor 8, …". Equal texts scale equally.
  std::string kind = "default";
  // By which frequency i, theta^(−2i/head_dim), is divided. [head_dim / 2]; empty: by 1.
  std::vector<double> divisors = {};
  double magnitude = 1;  // Of cosines and sines: the attention factor of yarn and longrope.
  // Tokens of a sequence up to which that is so; 0: any number. Beyond it the type takes others.
  std::uint64_t longest = 0;
};

// From rope_scaling, or rope_parameters as transformers 5 calls it. `theta` > 1: the base in use.
// Fails on a type that is none of "default", "linear", "llama3", "yarn", "longrope" and "dynamic",
// and on settings that are missing or no numbers, naming the key. Requires: head_dim is even.
Result<RotaryScaling> read_rotary_scaling(const Json& config, double theta, std::uint64_t head_dim);

}  // namespace headroom::estimate

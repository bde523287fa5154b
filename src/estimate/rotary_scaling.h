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

struct RotaryShape {
  double theta = 1e4;          // > 1: the base in use.
  std::uint64_t head_dim = 0;  // Even.
  // max_position_embeddings of the family's class, for a config.json without it; 0: not known.
  std::uint64_t class_positions = 0;
};

// From rope_scaling, or rope_parameters as transformers 5 calls it; an empty one is none. Fails on
// a type that is none of "default", "linear", "llama3", "yarn", "longrope" and "dynamic", on
// settings that transformers asks for and that are missing, and on numbers that are none or are not
// from 1e-6 to 1e6, naming the key.
Result<RotaryScaling> read_rotary_scaling(const Json& config, const RotaryShape& shape);

}  // namespace headroom::estimate

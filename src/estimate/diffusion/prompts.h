// SPDX-License-Identifier: Apache-2.0
// encode_prompt() of each pipeline: which encoders run, what is kept of them and what is made of
// it.
#pragma once

#include <cstddef>

#include "estimate/diffusion/pipeline_parts.h"

namespace headroom::estimate::diffusion {

// [images, tokens, width]; pooled ones [images, width]. Undefined where a pipeline has none.
struct Prompts {
  Tensor positive, negative, pooled, negative_pooled;
};

struct EncodedCall {
  Tape& tape;
  const PipelineShape& shape;
  const Settings& settings;
  Parts& parts;
  bool guided = false;  // The negative prompt is encoded as well.
};
Prompts encode_prompt(const EncodedCall& call);

// torch.cat along that dimension.
Tensor joined(Tape& tape, const Tensor& a, const Tensor& b, std::size_t dimension, Name name);

}  // namespace headroom::estimate::diffusion

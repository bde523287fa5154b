// SPDX-License-Identifier: Apache-2.0
// A linear layer as PyTorch, bitsandbytes, GPTQ and AWQ kernels hold and run it, with PEFT's
// adapter beside it where the job has one.
//
// Sources: torch.nn.Linear; bitsandbytes nn/modules.py (Linear4bit, Linear8bitLt) and
// autograd/_functions.py (MatMul4Bit, MatMul8bitLt); AutoGPTQ and AWQ's packed layouts
// (qweight, qzeros, scales, g_idx); PEFT tuners/lora/layer.py and bnb.py.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

struct Linear {
  Name name;  // "q_proj"
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  WeightFormat format = WeightFormat::bf16;
  std::vector<Tensor> stored;  // One weight [out, in], or the parts of a quantised one.
  std::optional<Tensor> bias;
  // PEFT's modules_to_save: what is trained in their place.
  std::optional<Tensor> copy, bias_copy;
  std::optional<Tensor> lora_a;  // [rank, in]
  std::optional<Tensor> lora_b;  // [out, rank]

  bool quantised() const { return !plain_type(format).has_value(); }
};

// Makes its tensors in the present scope. Requires: nothing that is trained is quantised.
Linear make_linear(Run& run, Name name, Shape shape, bool bias);
// One that stays plain in quantised models: a head, a router, a projector; held in `element`.
Linear make_plain_linear(Run& run, Name name, Shape shape, bool bias, Element element);
void attach_adapter(Run& run, Linear& linear);
// PEFT's ModulesToSaveWrapper (utils/other.py): a copy of a plain layer, trained, in its weights'
// own type. Requires: not quantised.
void attach_copy(Run& run, Linear& linear);
// The weight [out, in] and the bias that a plain layer runs with.
const Tensor& weight_of(const Run& run, const Linear& linear);
const std::optional<Tensor>& bias_of(const Run& run, const Linear& linear);

// x [..., in] → [..., out].
Tensor apply(Run& run, const Linear& linear, const Tensor& x);

}  // namespace headroom::estimate::transformers

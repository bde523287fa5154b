// SPDX-License-Identifier: Apache-2.0
// A linear projection with its LoRA adapter, if it has one.
#pragma once

#include <optional>
#include <string>

#include "estimate/job.h"
#include "estimate/tape.h"

namespace headroom::estimate {

struct Projection {
  std::string name;              // "self_attn.q_proj"
  Tensor weight;                 // [out, in]
  std::optional<Tensor> bias;    // [out]
  std::optional<Tensor> lora_a;  // [rank, in]
  std::optional<Tensor> lora_b;  // [out, rank]

  // Adds trainable A and B of the method's rank and adapter_dtype.
  void attach_adapter(Tape& tape, const Job::Method& method);

  // x [..., in] → [..., out], as PEFT's lora.Linear: base(x) + B(A(dropout(x))) · scale, with x
  // cast to the adapter's type for each module on its own, and the sum cast back to the base's.
  Tensor apply(Tape& tape, const Job::Method& method, const Tensor& x) const;
};

}  // namespace headroom::estimate

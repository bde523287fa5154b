// SPDX-License-Identifier: Apache-2.0
// A LoRA adapter of several projections of one input, whose matrices are rows of one (Phi-3's
// qkv_proj is q, k and v). PEFT has one adapter there, so A and the dropout of x are one for all,
// and each projection has its rows of B: what it gives is more by scale · dropout(x) · Aᵀ · B_iᵀ.
//
// Memory. With N rows, r the rank, out_i the rows of projection i, in their order:
//   forward    allocates x·Aᵀ [N,r]; with dropout its mask [N,in] bool, and a temporary (workspace)
//              [N,in]. Casts (workspace): A [r,in], B [Σ out_i,r].
//   saved      x (by the caller), x·Aᵀ and the mask.
//   backward   the casts, and a temporary [N,r], from the first projection to the end; the
//              gradients of A and B; with dropout two temporaries of [N,in], one after the other.
//   products   have the temporaries of ops/product.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "trainer/ops/linear.h"

namespace headroom::trainer::ops {

// Adds to what the projections gave, in the order of B's rows. `seed` as in linear().
void add_shared_adapter(const Adapter& adapter, const at::Tensor& x,
                        std::initializer_list<at::Tensor*> outs, LinearSaved& saved,
                        std::optional<std::uint64_t> seed);

// The reverse: one projection after the other, so that each gradient may die at once.
class SharedAdapterBackward {
 public:
  // Requires: both outlive it. `dtype`: of the gradients.
  SharedAdapterBackward(const Adapter& adapter, const LinearSaved& saved, at::ScalarType dtype);
  // Adds to the gradient of the next rows of B.
  void add(const at::Tensor& grad);
  // After the last: adds to the gradient of A, and to `dx` unless it is null.
  void finish(const at::Tensor& x, at::Tensor* dx);

 private:
  const Adapter& adapter_;
  const LinearSaved& saved_;
  at::Tensor a_, b_;      // Of the gradients' dtype.
  at::Tensor reduced_;    // d loss / d (x·Aᵀ), without the scale.
  std::int64_t row_ = 0;  // Of B, the next one.
  bool first_ = true;     // Whether the gradient of B begins here.
};

}  // namespace headroom::trainer::ops

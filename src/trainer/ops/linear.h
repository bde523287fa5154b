// SPDX-License-Identifier: Apache-2.0
// A projection y = x · Wᵀ (+ b) of W [out, in], or y = x · W (+ b) of one that is stored [in, out]
// (GPT-2's Conv1D), and with a LoRA adapter (Hu et al. 2021) also
// + scale · dropout(x) · Aᵀ · Bᵀ; adapter matrices of another dtype are cast to x's for the
// products. A frozen W may be quantised: it is made whole for each product and goes after it.
//
// Memory. With N rows, r the rank:
//   forward    allocates y [N,out]. With an adapter also x·Aᵀ [N,r]; with dropout its mask [N,in]
//              bool, and a temporary (workspace) [N,in]. Casts (workspace): A [r,in], B [out,r].
//   saved      x if W or the adapter trains (by the caller); with an adapter x·Aᵀ and the mask.
//   backward   allocates d x [N,in] (workspace) unless it adds to one that is there, and what
//              parameter.h says for each trained gradient. With an adapter: temporary [N,r]; with
//              dropout two of [N,in], one after the other; casts as in forward.
//   products   have the temporaries of ops/product.h.
//   quantised  allocates W [out,in] in x's dtype (workspace) in front of y, and of d x.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "trainer/parameter.h"

namespace headroom::trainer::ops {

struct Adapter {
  Parameter* a = nullptr;  // [rank, in]
  Parameter* b = nullptr;  // [out, rank]
  double scale = 1;        // alpha / rank
  double dropout = 0;
};

struct Linear {
  Parameter* weight = nullptr;  // [out, in]; null where a layer has no such projection
  Parameter* bias = nullptr;    // [out], or null
  std::optional<Adapter> adapter;
  bool shares_adapter = false;   // With other projections (shared_adapter.h), in place of its own.
  bool stored_by_input = false;  // weight is [in, out].

  bool exists() const { return weight != nullptr; }
  bool trains() const {
    return exists() && (weight->trainable || adapter.has_value() || shares_adapter);
  }
  // [out, in] of either: a view; of a quantised one allocated, in this dtype.
  at::Tensor matrix(at::ScalarType dtype) const;
};

struct LinearSaved {
  at::Tensor reduced;  // x · Aᵀ [N, rank]
  at::Tensor dropped;  // [N, in] bool, true where dropout zeroed x
};

// x without what `dropped` names, the rest made larger. Allocates it (workspace) [N, in].
at::Tensor drop_input(const Adapter& adapter, const at::Tensor& x, const at::Tensor& dropped);

// Which elements dropout zeroes, of the shape and on the device of `x`: drawn by the processor, so
// that a seed gives the same mask everywhere.
at::Tensor dropout_mask(const at::Tensor& x, double dropout, std::uint64_t seed);

// `seed` decides the dropout mask: the same seed gives the same mask again; without one nothing is
// dropped.
at::Tensor linear(const Linear& layer, const at::Tensor& x, LinearSaved& saved,
                  std::optional<std::uint64_t> seed);

// Adds to the gradients of what trains. If `dx` is not null, adds d loss / d x to it, or sets it if
// it is undefined. `x` may be undefined if nothing of the layer trains.
void linear_backward(const Linear& layer, const at::Tensor& grad, const at::Tensor& x,
                     const LinearSaved& saved, at::Tensor* dx);

}  // namespace headroom::trainer::ops

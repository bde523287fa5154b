// SPDX-License-Identifier: Apache-2.0
// The matrix product of every linear map. In fp32 and fp64 it is BLAS. In bf16 libtorch's own
// product depends on the processor: some get a oneDNN kernel that repacks an operand of any size in
// memory that nobody foresees, others a loop without vectors. So bf16 factors are widened block by
// block and multiplied in fp32: the same memory and the same result everywhere, rounded once.
//
// Memory. [M,K] · [K,N]: fp32 and fp64 no temporary. bf16 temporaries (workspace) in fp32, with
// E = estimate::product_block(K): [K, min(N,E)], [min(M,E), K] and, unless out is fp32,
// [min(M,E), min(N,E)].
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

// out = beta · out + alpha · left · right; beta is 0 or 1. left and right have one dtype; out has
// the same, or fp32 where that is bf16. None of them needs to be contiguous.
struct Scaling {
  double beta = 0;
  double alpha = 1;
};
void product_(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
              Scaling scaling = {});

// left · right, of their dtype. Allocates the result [M,N].
at::Tensor product(const at::Tensor& left, const at::Tensor& right);

}  // namespace headroom::trainer::ops

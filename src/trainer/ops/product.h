// SPDX-License-Identifier: Apache-2.0
// The matrix product of every linear map and of attention. In fp32 and bf16 it is our own
// (kernels/kernels.h): the same bits on every processor with fused multiply-add and with any number
// of threads, memory that the planner knows, and no library that falls back to slow kernels on a
// processor that is newer than itself. bf16 factors are widened while they are packed, multiplied
// and added up in fp32, and rounded once. fp64 is BLAS, and so is everything on a GPU.
//
// Memory. [M,K] · [K,N]: fp64 and on a GPU no temporary of ours, but for an out of fp32 copies of
// bf16 factors; otherwise a part of the right factor (workspace) in
// fp32, [min(K,256), min(N,512) rounded up to 32], and unless out is fp32 blocks of it in fp32,
// [min(M,512), min(N,512)].
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

// out = beta · out + alpha · left · right; beta is 0 or 1. left and right have one dtype; out has
// the same, or fp32 where that is bf16. The factors may have any strides. Either the columns of out
// lie side by side, or its rows do, and then it is the same product transposed.
struct Scaling {
  double beta = 0;
  double alpha = 1;
};
void product_(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
              Scaling scaling = {});

// left · right, of their dtype. Allocates the result [M,N].
at::Tensor product(const at::Tensor& left, const at::Tensor& right);

// Many products with one temporary: of right factors that have at most this `inner` and `columns`.
// Undefined, and not needed, in fp64 and on a GPU.
at::Tensor product_space(std::int64_t inner, std::int64_t columns, const at::TensorOptions& factor);
// As product_(), for an `out` of fp32 or fp64.
void product_in(const at::Tensor& space, const at::Tensor& out, const at::Tensor& left,
                const at::Tensor& right, Scaling scaling = {});

}  // namespace headroom::trainer::ops

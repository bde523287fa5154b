// SPDX-License-Identifier: Apache-2.0
// The passes of attention over rows of scores, fp32 or fp64, each over nothing but the keys that a
// query may see. Hidden keys weigh 0. No memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace headroom::trainer::ops {

// What the rows of a block of scores are, and its columns: consecutive queries and keys of a
// sample.
struct Sight {
  std::int64_t first_query = 0;
  std::int64_t first_key = 0;
  std::int64_t window = 0;  // Keys that a query sees, its own the last. At least 1.
};

// scores = cap · tanh(scores / cap), so that none is larger (Gemma 2). Writes its slope, 1 − tanh²,
// to `slopes` [rows, keys], if it is defined, and there to nothing but the keys that are seen. They
// may be the scores themselves, which then hold slopes.
void soft_cap_rows(const at::Tensor& scores, const Sight& sight, double cap,
                   const at::Tensor& slopes);

// weights = weights · slopes, of the keys that are seen.
void weigh_rows(const at::Tensor& weights, const Sight& sight, const at::Tensor& slopes);

// scores = softmax(scores) by rows. Writes the logarithm of each row's sum to `logsumexp` [rows,
// 1], if it is defined.
void softmax_rows(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp);

// The same again, from what it has written.
void softmax_rows_again(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp);

// d scores from d weights, in place: p · (dp − Σ dp·p), and Σ dp·p = Σ dout·out.
void softmax_rows_backward(const at::Tensor& grad, const Sight& sight, const at::Tensor& weights,
                           const at::Tensor& dout, const at::Tensor& out);

}  // namespace headroom::trainer::ops

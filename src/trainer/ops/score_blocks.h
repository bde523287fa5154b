// SPDX-License-Identifier: Apache-2.0
// What score_rows.h says, by libtorch's operations on whole blocks of scores, for where its loops
// do not run (by_libtorch.h). Memory (workspace): a mask of the block in bool, and temporaries of
// its size.
#pragma once

#include "trainer/ops/score_rows.h"

namespace headroom::trainer::ops::score_blocks {

void soft_cap(const at::Tensor& scores, const Sight& sight, double cap, const at::Tensor& slopes);
void weigh(const at::Tensor& weights, const Sight& sight, const at::Tensor& slopes);
void softmax(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp);
void softmax_again(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp);
void softmax_backward(const at::Tensor& grad, const Sight& sight, const at::Tensor& weights,
                      const at::Tensor& dout, const at::Tensor& out);

}  // namespace headroom::trainer::ops::score_blocks

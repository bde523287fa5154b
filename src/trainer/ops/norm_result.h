// SPDX-License-Identifier: Apache-2.0
// What a norm's forward pass gives, of either kind.
#pragma once

#include <ATen/core/Tensor.h>

namespace headroom::trainer::ops {

struct NormResult {
  at::Tensor out;    // [N, H], dtype of x
  at::Tensor stats;  // fp32: of RMSNorm [N, 1], rstd; of LayerNorm [N, 2], mean and rstd
};

}  // namespace headroom::trainer::ops

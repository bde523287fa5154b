// SPDX-License-Identifier: Apache-2.0
// The norm that a model's family has: RMSNorm (rms_norm.h), or where there is a bias LayerNorm
// (layer_norm.h).
#pragma once

#include "trainer/ops/layer_norm.h"
#include "trainer/ops/rms_norm.h"

namespace headroom::trainer::ops {

struct Norm {
  Parameter* weight = nullptr;  // [H]; null where a layer has no such norm
  Parameter* bias = nullptr;    // [H], or null
  bool unit_offset = false;     // Of RMSNorm: times 1 + weight.

  bool exists() const { return weight != nullptr; }
  bool trains() const { return weight->trainable; }
};

inline NormResult normalise(const at::Tensor& x, const Norm& norm, double eps) {
  return norm.bias == nullptr ? rms_norm(x, norm.weight->value, eps, norm.unit_offset)
                              : layer_norm(x, norm.weight->value, norm.bias->value, eps);
}

inline void normalise_backward_(at::Tensor& grad, const at::Tensor& x, const at::Tensor& stats,
                                const Norm& norm) {
  if (norm.bias == nullptr) {
    rms_norm_backward_(grad, x, stats, *norm.weight, norm.unit_offset);
  } else {
    layer_norm_backward_(grad, x, stats, *norm.weight, *norm.bias);
  }
}

}  // namespace headroom::trainer::ops

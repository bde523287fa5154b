// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm as transformers runs them.
#pragma once

#include <optional>

#include "estimate/models/architecture.h"
#include "estimate/transformers/run.h"

namespace headroom::estimate::transformers {

struct NormWeights {
  Name name;
  Tensor weight;
  Norm kind;
  std::optional<Tensor> bias;
};

NormWeights make_norm(Run& run, Name name, const Norm& norm, std::uint64_t width);

// An eager RMSNorm widens to fp32, and every step of it is a tensor (LlamaRMSNorm); the fused
// kernel keeps its input and one number a row.
Tensor apply(Run& run, const NormWeights& norm, const Tensor& x);

}  // namespace headroom::estimate::transformers

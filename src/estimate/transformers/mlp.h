// SPDX-License-Identifier: Apache-2.0
// The feed-forward half of a layer: gated or not, one for all tokens or a mixture of experts.
#pragma once

#include <optional>
#include <vector>

#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"

namespace headroom::estimate::transformers {

struct Mlp {
  MlpShape shape;
  double dropout = 0;             // Between the matrices.
  std::optional<Linear> gate;     // Gated and not fused.
  std::optional<Linear> up;       // Not fused.
  std::optional<Linear> gate_up;  // Fused: [2 intermediate, hidden].
  std::optional<Linear> down;
};

// A router, its experts, and one that all tokens pass through where there is one.
struct ExpertLayer {
  Experts shape;
  Name name;  // "experts"
  Linear router;
  MlpShape expert;        // Of one.
  std::vector<Mlp> each;  // Before transformers 5, and of quantised and adapted ones.
  // Since: the matrices of all experts as one, [experts, out, in] (gpt-oss: [experts, in, out]).
  std::optional<Tensor> gate_up, gate_up_bias, down, down_bias;
  std::optional<Tensor> corrections;  // A buffer of fp32, [experts] (DeepSeek-V3).
  std::optional<Mlp> shared;
  std::optional<Linear> shared_gate;  // [1, hidden]
};

// The experts of all layers that a job runs one by one: adapted and quantised ones, and before
// transformers 5. Each is about a hundred tensors of a recording.
std::uint64_t single_experts(const Job& job, const Architecture& model);

Mlp make_mlp(Run& run, const Stack& stack, const MlpShape& shape);
ExpertLayer make_experts(Run& run, const Stack& stack);

Tensor activate(Run& run, Activation activation, const Tensor& x);
// `inner` is given what the last matrix is, where the family's layer has a name for it.
Tensor apply(Run& run, const Mlp& mlp, const Tensor& x, Tensor* inner = nullptr);
// Tokens are spread evenly over the experts: what a trained router aims at (its balancing loss).
// Sources: modeling_mixtral.py and modeling_qwen2_moe.py, …SparseMoeBlock.
Tensor apply(Run& run, const ExpertLayer& layer, const Tensor& x);
// The same where all experts are one product (integrations/moe.py, grouped_mm_experts_forward).
// Requires: layer.gate_up.
Tensor apply_grouped(Run& run, const ExpertLayer& layer, const Tensor& x);
// Makes the matrices of all experts as one.
void make_grouped(Run& run, const Stack& stack, ExpertLayer& layer);

}  // namespace headroom::estimate::transformers

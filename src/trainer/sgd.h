// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent as torch.optim.SGD has it (torch/optim/sgd.py, _single_tensor_sgd),
// without dampening: weight decay is added to the gradient, momentum adds up gradients, and
// Nesterov's looks one momentum ahead.
//
// Memory. States: with momentum one of each parameter's size and dtype (tag optimizer), allocated
// at the first step; without, none. Temporaries (workspace) of a step: in fp32 none; otherwise a
// block of at most block_elements (ops/row_blocks.h) in fp32 for the value, the gradient and the
// state, freed before the next parameter's. On a GPU in fp32 as well one for the gradient.
#pragma once

#include "trainer/optimizer.h"

namespace headroom::trainer {

class Sgd final : public Optimizer {
 public:
  Sgd(std::deque<Parameter>& parameters, const SgdSettings& settings,
      const StateOptions& states = {})
      : Optimizer(parameters, states), settings_(settings) {}

  double learning_rate(double factor) const override { return settings_.learning_rate * factor; }

 private:
  std::vector<StateShape> shape_states(at::IntArrayRef sizes, at::ScalarType type) const override;
  void update(const Part& part, const Factors& factors) override;
  void update_by_libtorch(const Part& part, const Factors& factors) const;

  SgdSettings settings_;
};

}  // namespace headroom::trainer

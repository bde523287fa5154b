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
  Sgd(std::deque<Parameter>& parameters, const SgdSettings& settings)
      : Optimizer(parameters), settings_(settings) {}

  double learning_rate(double factor) const override { return settings_.learning_rate * factor; }
  std::vector<State> states_of(std::size_t parameter) const override;

 private:
  void add_state(const Parameter& parameter) override;
  void update(std::size_t index, Parameter& parameter, const Factors& factors) override;
  void update_by_libtorch(std::size_t index, Parameter& parameter, const Factors& factors) const;

  SgdSettings settings_;
  std::vector<at::Tensor> momenta_;  // Empty without momentum.
};

}  // namespace headroom::trainer
